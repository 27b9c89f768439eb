/** Text of the example upload, and its CID. */
const HELLO = {
  text: 'Hello from Holdfast!',
  cid: 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm',
} as const

export interface Addresses {
  /** URL of the address that the server listens on. */
  listening: string
  /** URL of the API for programs on this machine. */
  local: string
  public: string
  /** URL of the gateway for programs on this machine. */
  localGateway: string
  gateway: string
  /** Null if the console is off. */
  console: string | null
  importRoots: readonly string[]
  /** Empty while networking is off. */
  peerAddresses: readonly string[]
}

/**
 * If the key came from an environment variable, only the name of the variable is shown. `passwordLink` is null if the
 * console is off.
 */
export type OwnerKey = { secret: string; passwordLink: string | null } | { variable: string }

export function startLines(addresses: Addresses): string[] {
  const { listening, public: base, gateway, importRoots, peerAddresses } = addresses
  return [
    `listening on ${listening}`,
    `API base       ${base}/api/v3`,
    `gateway base   ${gateway}/ipfs/`,
    ...(addresses.console === null ? [] : [`console        ${addresses.console}`]),
    `import folder  ${importRoots.length === 0 ? 'none' : importRoots.join(', ')}`,
    ...peerAddresses.map(address => `peer address   ${address}`),
  ]
}

/** Returns the lines that only the very first start prints. */
export function firstStartLines({ local, localGateway }: Addresses, key: OwnerKey): string[] {
  const header = 'secret' in key ? `'X-API-Key: ${key.secret}'` : `"X-API-Key: $${key.variable}"`
  const api = `${local}/api/v3`
  return [
    '',
    'secret' in key
      ? `API key of the owner, shown only this once: ${key.secret}`
      : `API key of the owner: in ${key.variable}`,
    ...('secret' in key && key.passwordLink !== null
      ? [`Password of the owner: set it within a day at ${key.passwordLink}`]
      : []),
    'Try it:',
    '',
    `printf '${HELLO.text}' | curl -sS -H ${header} -F 'file=@-;filename=hello.txt' ${api}/files; echo`,
    `curl -sS -H ${header} ${api}/users/me/uploads; echo`,
    `curl -sS ${localGateway}/ipfs/${HELLO.cid}; echo`,
    '',
  ]
}
