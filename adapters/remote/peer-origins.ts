/** Most origins that an IPFS Cluster connects to. */
export const MOST_ORIGINS = 10

/** Checks that an origin is a multiaddr with a peer id, so another node can dial it. */
export function isPeerAddress(origin: string): boolean {
  return origin.startsWith('/') && origin.includes('/p2p/') && !origin.includes(',')
}
