import { once } from 'node:events'
import { createServer } from 'node:net'

/** Linux takes ephemeral ports from 32,768 upwards, so no other process gets a port of this range by chance. */
const FIRST = 10_000
const COUNT = 20_000

/** Returns a free port outside the ephemeral range. The `behind` ports after it are free as well. */
export async function fixedPort(behind = 0): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT)
    const wanted = Array.from({ length: behind + 1 }, (_, offset) => port + offset)
    if ((await Promise.all(wanted.map(isFree))).every(free => free)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const listens = once(server.listen(port, '127.0.0.1'), 'listening').then(
    () => true,
    () => false,
  )
  if (!(await listens)) return false
  await new Promise(resolve => server.close(resolve))
  return true
}
