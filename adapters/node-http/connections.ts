import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { deadline } from './incoming-body.ts'
import { Lingering } from './lingering.ts'

/**
 * A server's connections, limited in number. At the limit, a new connection replaces the oldest idle connection of the
 * address with the most connections.
 *
 * If that address has no idle connection, or few file descriptors are left, the new connection is surplus. The server
 * refuses its request and closes it. The numbers of surplus and of closing connections are limited, too.
 */
export class Connections {
  readonly #most: number
  readonly #mostSurplus: number
  readonly #served = new Map<Duplex, string>()
  readonly #byAddress = new Map<string, Set<Duplex>>()
  readonly #answers = new WeakMap<Duplex, ServerResponse>()
  readonly #surplus = new Set<Duplex>()
  readonly #lingering: Lingering
  readonly #refusal: string

  /** @param refusal HTTP response sent before closing a connection that has had no other response */
  constructor(most: number, refusal: string) {
    this.#most = most
    this.#mostSurplus = Math.ceil(most * SURPLUS_SHARE)
    this.#lingering = new Lingering(this.#mostSurplus)
    this.#refusal = refusal
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const ofAddress = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, ofAddress.add(socket))
    this.#served.set(socket, address)
    socket.once('close', () => this.#leave(socket))
    // Node calls this method after a response with `connection: close`.
    socket.destroySoon = () => {
      if (this.#answers.get(socket)?.req.complete === false) this.close(socket)
      else Socket.prototype.destroySoon.call(socket)
    }
    const isLast = isLastDescriptor(socket)
    if (isLast) this.#lingering.destroyOldest()
    if (this.#served.size > this.#most ? !this.#closeIdle(socket, ofAddress) : isLast) this.#refuse(socket)
  }

  isSurplus(socket: Duplex): boolean {
    return this.#surplus.has(socket)
  }

  answering(socket: Duplex, outgoing: ServerResponse): void {
    this.#answers.set(socket, outgoing)
  }

  unfinished(socket: Duplex): ServerResponse | undefined {
    const outgoing = this.#answers.get(socket)
    return outgoing?.writableFinished === false ? outgoing : undefined
  }

  /** Closes a connection, but only after a client that is still sending had time to read the response. */
  close(socket: Duplex, bytes = ''): void {
    this.#leave(socket)
    if (!socket.destroyed) this.#lingering.close(socket, bytes)
  }

  #leave(socket: Duplex): void {
    this.#surplus.delete(socket)
    const address = this.#served.get(socket)
    if (address === undefined) return
    this.#served.delete(socket)
    const ofAddress = this.#byAddress.get(address)
    ofAddress?.delete(socket)
    if (ofAddress?.size === 0) this.#byAddress.delete(address)
  }

  /** Makes a connection surplus. If there are too many, closes the oldest surplus connection. */
  #refuse(socket: Socket): void {
    this.#leave(socket)
    this.#surplus.add(socket)
    const late = deadline(SURPLUS_MS, () => {
      if (this.#surplus.has(socket)) this.#turnAway(socket)
    })
    socket.once('close', late.cancel)
    const [oldest] = this.#surplus
    if (this.#surplus.size > this.#mostSurplus) this.#turnAway(oldest ?? socket)
  }

  /** Closes a connection. If it has had no response, sends a refusal first. */
  #turnAway(socket: Duplex): void {
    this.#leave(socket)
    if (this.#answers.has(socket)) socket.destroy()
    else this.close(socket, this.#refusal)
  }

  #closeIdle(newcomer: Socket, own: ReadonlySet<Duplex>): boolean {
    let greediest = own
    for (const sockets of this.#byAddress.values()) if (sockets.size > greediest.size) greediest = sockets
    for (const socket of greediest) {
      if (socket === newcomer || socket.destroyed || this.unfinished(socket) !== undefined) continue
      this.#turnAway(socket)
      return true
    }
    return false
  }
}

/**
 * Maximum number of surplus connections, as a share of all. A surplus connection without a request is closed after the
 * time.
 */
const SURPLUS_SHARE = 1 / 8
const SURPLUS_MS = 5_000
/** File descriptors in reserve, so that the next connection can be accepted and refused. */
const RESERVED = 8

/**
 * Returns whether few descriptors are left. The system assigns the lowest free one, so all lower numbers are in use.
 */
function isLastDescriptor(socket: Socket): boolean {
  const { _handle: handle }: { _handle?: { fd?: number } | null } = socket as Socket & { _handle?: { fd?: number } }
  return (handle?.fd ?? -1) >= descriptorLimit() - RESERVED
}

const FEWEST = 16
const MOST = 10_000
/** Maximum number of connections that the system queues for a server. Linux reduces it to `net.core.somaxconn`. */
export const BACKLOG = 4_096

/** Returns a limit that leaves about half of the descriptors free for other uses. */
export function connectionsFor(descriptors: number): number {
  return Math.max(FEWEST, Math.min(MOST, Math.floor(descriptors / 2)))
}

/** Memory of the process for each connection, which occupies a tenth of it even if it sends nothing. */
const BYTES_PER_CONNECTION = 128 * 1024

/**
 * Returns the limit of each server if several share the file descriptors and the memory of the process.
 *
 * @param memoryBytes memory that the process may use; undefined for no limit
 */
export function connectionsOfEach(servers: number, memoryBytes = Number.POSITIVE_INFINITY): number {
  const affordable = Math.max(FEWEST, Math.floor(memoryBytes / BYTES_PER_CONNECTION / servers))
  return Math.min(connectionsFor(descriptorLimit() / servers), affordable)
}

let known: number | null = null

/** Returns the maximum number of open files and sockets of the process. */
export function descriptorLimit(): number {
  known ??= readLimit()
  return known
}

function readLimit(): number {
  const report: { excludeNetwork?: boolean; getReport(): object } = process.report
  const { excludeNetwork = false } = report
  // With network information, the report would wait for reverse DNS lookups of all peers.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  report.excludeNetwork = excludeNetwork
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) && soft > 0 ? soft : Number.MAX_SAFE_INTEGER
}
