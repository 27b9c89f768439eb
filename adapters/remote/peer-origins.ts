/** Maximum number of origins that a backend connects to for one pin. */
export const MOST_ORIGINS = 10

/** Returns whether an origin is a multiaddr with a peer id, so that another node can connect to it. */
export function isPeerAddress(origin: string): boolean {
  return origin.startsWith('/') && origin.includes('/p2p/') && !origin.includes(',')
}
