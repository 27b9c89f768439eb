interface Listening {
  preset?: 'public' | 'private'
  listen?: readonly string[]
}

const LOOPBACK = ['/ip4/127.0.0.1/tcp/0']
/** IPFS nodes usually listen on port 4001. */
const ALL_INTERFACES = ['/ip4/0.0.0.0/tcp/4001', '/ip6/::/tcp/4001']

/** Returns the multiaddrs on which the network of a configuration listens. */
export function listenAddresses({ preset, listen }: Listening): readonly string[] {
  return listen ?? (preset === 'public' ? ALL_INTERFACES : LOOPBACK)
}
