import { once } from 'node:events'
import { createServer } from 'node:net'

/** Ports that Linux gives to nobody by itself: what asks for any port is given one of 32,768 and more. */
const FIRST = 10_000
const COUNT = 20_000

/** A port of 127.0.0.1 that is free, and so are the `behind` ones after it; nobody else is given them by chance. */
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
