// Entry of a reader thread for tests. A header can make the thread hang or exit, and the test can control its clock. Its
// URL names the bundled thread, which starts in a fifth of the time.
import http from 'node:http'
import { threadId, workerData } from 'node:worker_threads'

const { time } = workerData.reading.data as { time?: BigInt64Array }
if (time !== undefined) Date.now = () => Number(Atomics.load(time, 0))

const { emit } = http.Server.prototype
http.Server.prototype.emit = function (this: http.Server, event: string, ...given: unknown[]) {
  if (event === 'request') {
    const [incoming, outgoing] = given as [http.IncomingMessage, http.ServerResponse]
    outgoing.setHeader('x-thread', threadId)
    const wish = incoming.headers['x-wish']
    if (wish === 'end') process.exit(1)
    if (wish === 'hang') for (;;);
  }
  return Reflect.apply(emit, this, [event, ...given])
} as typeof emit

const bundled = new URL(import.meta.url).searchParams.get('thread')
if (bundled === null) await import('../../adapters/node-http/reader-thread.ts')
else await import(new URL(bundled).href)
