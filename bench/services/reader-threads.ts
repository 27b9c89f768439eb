import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** On a machine that has other work as well. */
const LONGEST_MS = 30_000
const ASK_EVERY_MS = 50

/**
 * Resolves once a gateway's own threads serve it. They are started by its first connection, which the server's own thread
 * answers, and closes with an answer when they listen.
 * @param url of anything there
 * @throws Error if that does not come about
 */
export async function readerThreads(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const until = performance.now() + LONGEST_MS
  try {
    while ((await answerOf(url, agent)).headers.connection !== 'close') {
      if (performance.now() > until) throw new Error(`its first thread serves it after ${LONGEST_MS} ms`)
      await sleep(ASK_EVERY_MS)
    }
  } catch (cause) {
    throw new Error(`the gateway at ${url} has no threads of its own, which are what is measured`, { cause })
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
