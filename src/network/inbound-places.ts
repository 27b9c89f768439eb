import type { MultiaddrConnection } from '@libp2p/interface'
import { shareOf } from '../domain/address-share.ts'

/** Maximum number of connections, of which half are open to any host. */
export const MOST_CONNECTIONS = 300
/**
 * Maximum number of handshakes. libp2p admits five connections per second and host, each for ten seconds. Its default of
 * ten would let one host keep out all others.
 */
export const MOST_HANDSHAKES = 300
/** Connections that one host keeps once half of the places are taken. */
const MOST_OF_HOST = 16

/** Inbound connections by host. A host is an IPv4 address or the first 64 bits of an IPv6 address. */
export class InboundPlaces {
  readonly #hosts = new Map<string, number>()
  #taken = 0

  /** Takes a place for the connection until it closes. Returns false if its host has its share of the places. */
  take(connection: MultiaddrConnection): boolean {
    const host = hostOf(connection)
    const own = this.#hosts.get(host) ?? 0
    if (this.#taken >= MOST_CONNECTIONS / 2 && own >= MOST_OF_HOST) return false
    this.#taken++
    this.#hosts.set(host, own + 1)
    connection.addEventListener('close', () => this.#leave(host), { once: true })
    return true
  }

  #leave(host: string): void {
    this.#taken--
    const left = (this.#hosts.get(host) ?? 1) - 1
    if (left === 0) this.#hosts.delete(host)
    else this.#hosts.set(host, left)
  }
}

function hostOf({ remoteAddr }: MultiaddrConnection): string {
  const address = remoteAddr.getComponents().find(({ name }) => name === 'ip4' || name === 'ip6')?.value
  return shareOf(address)
}
