import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * The connections of a server, of which there may be so many. When there are, a new one takes the place of the oldest
 * that is idle, at the address that has most; one that arrives while all are busy is surplus, and can only be told so.
 */
export class Connections {
  readonly #most: number
  readonly #byAddress = new Map<string, Set<Socket>>()
  readonly #answers = new WeakMap<Duplex, ServerResponse>()
  readonly #surplus = new WeakSet<Duplex>()
  #count = 0

  constructor(most: number) {
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** Counts a connection until it closes. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const ofAddress = this.#byAddress.get(address) ?? new Set()
    this.#byAddress.set(address, ofAddress.add(socket))
    this.#count++
    socket.once('close', () => {
      ofAddress.delete(socket)
      if (ofAddress.size === 0) this.#byAddress.delete(address)
      this.#count--
    })
    if (this.#count > this.#most && !this.#closeIdle(socket, ofAddress)) this.#surplus.add(socket)
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

  #closeIdle(newcomer: Socket, own: ReadonlySet<Socket>): boolean {
    let greediest = own
    for (const sockets of this.#byAddress.values()) if (sockets.size > greediest.size) greediest = sockets
    for (const socket of greediest) {
      if (socket === newcomer || socket.destroyed || this.unfinished(socket) !== undefined) continue
      socket.destroy()
      return true
    }
    return false
  }
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
