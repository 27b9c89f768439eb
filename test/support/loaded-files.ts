import { appendFileSync } from 'node:fs'
import { registerHooks, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import threads, { type WorkerOptions } from 'node:worker_threads'

/** URLs of the program and of its packages. */
export const LOADED = /^file:.*\/(src|adapters|node_modules)\//

/**
 * Preloaded into a server and its threads. Writes a line to the file in `LOADED_FILES` for each file that a thread loads:
 * the number of the thread, and the URL. The line of a thread that begins to listen has `listens` instead.
 */
const path = process.env.LOADED_FILES
if (path !== undefined) {
  const note = (text: string): void => appendFileSync(path, `${threads.threadId} ${text}\n`)
  registerHooks({
    load: (url, context, next) => {
      if (LOADED.test(url)) note(url)
      return next(url, context)
    },
  })
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (this: net.Server, ...given: unknown[]) {
    this.once('listening', () => note('listens'))
    return Reflect.apply(listen, this, given)
  }
  const { Worker } = threads
  threads.Worker = class extends Worker {
    constructor(entry: string | URL, options?: WorkerOptions) {
      super(entry, { ...options, execArgv: ['--import', import.meta.url] })
    }
  }
  syncBuiltinESMExports()
}
