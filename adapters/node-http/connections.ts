import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Lingering } from './lingering.ts'

/**
 * The connections of a server, bounded in number. Beyond the bound a new connection replaces the oldest idle one of the
 * address that has most. If all are busy, or the process has next to no descriptors left, the new one is surplus: the
 * server answers its request with a refusal and closes it. A bounded number of surplus connections may wait for their
 * request. The same number of refused ones may still be sending.
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

  /** @param refusal the bytes that a connection without an answer is closed with */
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

  /** Notes the answer that a connection is waiting for. */
  answering(socket: Duplex, outgoing: ServerResponse): void {
    this.#answers.set(socket, outgoing)
  }

  /** The answer that has begun on a connection and is not whole yet. */
  unfinished(socket: Duplex): ServerResponse | undefined {
    const outgoing = this.#answers.get(socket)
    return outgoing?.writableFinished === false ? outgoing : undefined
  }

  /** Closes a connection after these bytes, in a way that a client that still sends can read its answer. */
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

  /** Has it wait for its request, which is refused. The oldest that waits makes room. */
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

  /** Closes a connection with a refusal unless it has had an answer. */
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

/** Surplus connections that wait for their request, and for how long. */
const SURPLUS_SHARE = 1 / 8
const SURPLUS_MS = 5_000
/** Descriptors that no connection keeps, so that the next one can be accepted and told. */
const RESERVED = 8

/** The system gives the lowest number that is free: all below it are taken. */
function isLastDescriptor(socket: Socket): boolean {
  const { _handle: handle }: { _handle?: { fd?: number } | null } = socket as Socket & { _handle?: { fd?: number } }
  return (handle?.fd ?? -1) >= descriptorLimit() - RESERVED
}

const FEWEST = 16
const MOST = 10_000

/** How many connections a server may have, so that at least half of the process's descriptors stay for everything else. */
export function connectionsFor(descriptors: number): number {
  return Math.max(FEWEST, Math.min(MOST, Math.floor(descriptors / 2)))
}

/** How many connections each of so many servers of this process may have, so that the same holds for all together. */
export function connectionsOfEach(servers: number): number {
  return connectionsFor(descriptorLimit() / servers)
}

let known: number | null = null

/** How many files and sockets the process may have open. */
export function descriptorLimit(): number {
  known ??= readLimit()
  return known
}

function readLimit(): number {
  const report: { excludeNetwork?: boolean; getReport(): object } = process.report
  const { excludeNetwork = false } = report
  // Without it the report waits for the names of all peers.
  report.excludeNetwork = true
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } }
  report.excludeNetwork = excludeNetwork
  const soft = Number(userLimits?.open_files?.soft)
  return Number.isFinite(soft) && soft > 0 ? soft : Number.MAX_SAFE_INTEGER
}
