/** An IPFS Cluster connects to no more. */
export const MOST_ORIGINS = 10

/** As it has to be for others to be told of it: a multiaddr that names the peer. */
export function isPeerAddress(origin: string): boolean {
  return origin.startsWith('/') && origin.includes('/p2p/') && !origin.includes(',')
}
