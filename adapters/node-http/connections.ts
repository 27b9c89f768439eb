import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Lingering } from './lingering.ts'

/**
 * The connections of a server, limited in number. At the limit a new connection replaces the oldest idle one of the
 * address with the most. If all are busy, or descriptors are short, the new connection is surplus: the server refuses
 * its request and closes it. The number of surplus connections that wait for their request is limited, and so is that
 * of refused ones still sending.
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

  /** @param refusal bytes to send before closing a connection that got no answer */
  constructor(most: number, refusal: string) {
    this.#most = most
    this.#mostSurplus = Math.ceil(most * SURPLUS_SHARE)
    this.#lingering = new Lingering(this.#mostSurplus)
    this.#refusal = refusal
  }

  /** Counts a connection until it closes or is refused. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const ofAddress = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, ofAddress.add(socket))
    this.#served.set(socket, address)
    socket.once('close', () => this.#leave(socket))
    // Node calls it after an answer with `connection: close`.
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

  /** Notes the pending answer of a connection. */
  answering(socket: Duplex, outgoing: ServerResponse): void {
    this.#answers.set(socket, outgoing)
  }

  /** Returns the answer that has begun on a connection and is incomplete. */
  unfinished(socket: Duplex): ServerResponse | undefined {
    const outgoing = this.#answers.get(socket)
    return outgoing?.writableFinished === false ? outgoing : undefined
  }

  /** Sends these bytes and closes a connection, in a way that a client that still sends can read its answer. */
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

  /** Waits for the connection's request in order to refuse it. The oldest such connection makes room. */
  #refuse(socket: Socket): void {
    this.#leave(socket)
    this.#surplus.add(socket)
    const late = setTimeout(() => {
      if (this.#surplus.has(socket)) this.#turnAway(socket)
    }, SURPLUS_MS).unref()
    socket.once('close', () => clearTimeout(late))
    const [oldest] = this.#surplus
    if (this.#surplus.size > this.#mostSurplus) this.#turnAway(oldest ?? socket)
  }

  /** Closes a connection, with a refusal unless it had an answer. */
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

/** Share and waiting time of surplus connections. */
const SURPLUS_SHARE = 1 / 8
const SURPLUS_MS = 5_000
/** Descriptors in reserve, so that the next connection can be accepted and refused. */
const RESERVED = 8

/** The system assigns the lowest free number, so all below it are taken. */
function isLastDescriptor(socket: Socket): boolean {
  const { _handle: handle }: { _handle?: { fd?: number } | null } = socket as Socket & { _handle?: { fd?: number } }
  return (handle?.fd ?? -1) >= descriptorLimit() - RESERVED
}

const FEWEST = 16
const MOST = 10_000
/** Connections that the system queues for a server; Linux lowers it to `net.core.somaxconn`. */
export const BACKLOG = 4_096

/** Returns the connection limit that leaves at least half of the process's descriptors for everything else. */
export function connectionsFor(descriptors: number): number {
  return Math.max(FEWEST, Math.min(MOST, Math.floor(descriptors / 2)))
}

/** Returns the connection limit of each server, such that the limit of the process holds for all together. */
export function connectionsOfEach(servers: number): number {
  return connectionsFor(descriptorLimit() / servers)
}

let known: number | null = null

/** Returns the process's limit of open files and sockets. */
export function descriptorLimit(): number {
  known ??= readLimit()
  return known
}

function readLimit(): number {
  const report: { excludeNetwork?: boolean; getReport(): object } = process.report
  const { excludeNetwork = false } = report
  // Otherwise the report waits for reverse DNS of all peers.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  report.excludeNetwork = excludeNetwork
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) && soft > 0 ? soft : Number.MAX_SAFE_INTEGER
}
