/** Watches the event loop of a process, loaded by `node --import`. SIGUSR2 resets the watch. */
import { isMainThread } from 'node:worker_threads'
import { StallWatch } from './stall-watch.ts'

const report = process.env.STALL_REPORT
if (isMainThread && report !== undefined) {
  const watch = await StallWatch.start(report)
  process.on('SIGUSR2', () => watch.reset())
}
