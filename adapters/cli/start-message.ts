/** What the example uploads; its bytes decide its CID. */
const HELLO = {
  text: 'Hello from Holdfast!',
  cid: 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm',
} as const

/** Where a started server is reached. */
export interface Addresses {
  /** What it listens on, as it was asked to. */
  listening: string
  /** Where this machine reaches it. */
  local: string
  /** Where clients reach it. */
  public: string
  /** Where this machine reaches the gateway. */
  localGateway: string
  /** Where readers reach it. */
  gateway: string
  /** Where a browser finds the console; null without one. */
  console: string | null
  importRoots: readonly string[]
  /** Multiaddrs of the node; none while networking is off. */
  peerAddresses: readonly string[]
}

/** How the owner's key is shown: the key itself, or where it is if it must not be shown. */
export type OwnerKey = { secret: string } | { variable: string }

/** The lines of every start. */
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

/** The lines of the very first start: the owner's key, and an upload, a list and an open to paste into a shell. */
export function firstStartLines({ local, localGateway }: Addresses, key: OwnerKey): string[] {
  const header = 'secret' in key ? `'X-API-Key: ${key.secret}'` : `"X-API-Key: $${key.variable}"`
  const api = `${local}/api/v3`
  return [
    '',
    'secret' in key
      ? `API key of the owner, shown only this once: ${key.secret}`
      : `API key of the owner: in ${key.variable}`,
    'Try it:',
    '',
    `printf '${HELLO.text}' | curl -sS -H ${header} -F 'file=@-;filename=hello.txt' ${api}/files; echo`,
    `curl -sS -H ${header} ${api}/users/me/uploads; echo`,
    `curl -sS ${localGateway}/ipfs/${HELLO.cid}; echo`,
    '',
  ]
}
