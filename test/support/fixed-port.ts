import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/** Linux takes ephemeral ports from 32,768 upwards, so no other process gets a port of this range by chance. */
const FIRST = 10_000
/** Each process gives out the ports of a range of its own, so no two processes give out the same. */
const RANGE = 100
const RANGES = 200

let range: Promise<number> | undefined
let given = 0

/**
 * Returns a free port outside the ephemeral range, and another one at each call. The `behind` ports after it are free
 * as well. Ports are repeated after about a hundred.
 */
export async function fixedPort(behind = 0): Promise<number> {
  range ??= takeRange()
  const first = await range
  for (;;) {
    if (given + behind >= RANGE - 1) given = 0
    const port = first + 1 + given
    given += behind + 1
    const wanted = Array.from({ length: behind + 1 }, (_, offset) => port + offset)
    if ((await Promise.all(wanted.map(isFree))).every(free => free)) return port
  }
}

/** Returns the first port of a range. The process listens on it until it ends, so no other process takes the range. */
async function takeRange(): Promise<number> {
  const start = Math.floor(Math.random() * RANGES)
  for (let tried = 0; tried < RANGES; tried++) {
    const first = FIRST + ((start + tried) % RANGES) * RANGE
    const holder = await listening(first)
    if (holder !== null) {
      holder.unref()
      return first
    }
  }
  throw new Error('no range of ports is free')
}

async function isFree(port: number): Promise<boolean> {
  const server = await listening(port)
  if (server === null) return false
  await new Promise(resolve => server.close(resolve))
  return true
}

/** Null if the port is taken. */
async function listening(port: number): Promise<Server | null> {
  const server = createServer()
  return once(server.listen(port, '127.0.0.1'), 'listening').then(
    () => server,
    () => null,
  )
}
