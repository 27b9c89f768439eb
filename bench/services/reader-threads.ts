import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** Allows for a machine with other work. */
const LONGEST_MS = 30_000
const ASK_EVERY_MS = 50

/**
 * Resolves once a gateway's reader threads serve it. The first connection starts them; the main thread answers it, and
 * closes it once they listen.
 * @param url any URL of the gateway
 * @throws Error if the threads do not start in time
 */
export async function readerThreads(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const until = performance.now() + LONGEST_MS
  try {
    while ((await answerOf(url, agent)).headers.connection !== 'close') {
      if (performance.now() > until) throw new Error(`the main thread still serves it after ${LONGEST_MS} ms`)
      await sleep(ASK_EVERY_MS)
    }
    // The main thread leaves the port in the next rounds of its loop. A connection in that moment may be reset.
    await sleep(ASK_EVERY_MS)
  } catch (cause) {
    throw new Error(`the gateway at ${url} has no threads of its own, which the bench measures`, { cause })
  } finally {
    agent.destroy()
  }
}

function answerOf(url: string, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(url, { agent, timeout: LONGEST_MS }, answer => {
      answer.once('end', () => resolve(answer)).resume()
    }).on('error', reject)
  })
}
