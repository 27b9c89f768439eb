import { once } from 'node:events'
import { Agent, get } from 'node:http'

/** On a machine that has other work as well. */
const LONGEST_MS = 30_000

/**
 * Resolves once a gateway's own threads serve it. They are started by its first connection, which the server's own thread
 * answers, and closes when they listen; who connects while it leaves the port to them may be turned away.
 * @param url of anything there
 * @throws Error if that does not come about
 */
export async function readerThreads(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  try {
    const asked = get(url, { agent }).on('response', response => response.resume())
    // Its socket tells of it as well.
    asked.on('error', () => undefined)
    const [socket] = await once(asked, 'socket')
    await once(socket, 'close', { signal: AbortSignal.timeout(LONGEST_MS) })
  } catch (cause) {
    throw new Error(`the gateway at ${url} has no threads of its own, which are what is measured`, { cause })
  } finally {
    agent.destroy()
  }
}
