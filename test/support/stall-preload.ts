/** For `node --import`: watches the loop of a process, and forgets what it has seen at SIGUSR2. */
import { isMainThread } from 'node:worker_threads'
import { StallWatch } from './stall-watch.ts'

const report = process.env.STALL_REPORT
if (isMainThread && report !== undefined) {
  const watch = await StallWatch.start(report)
  process.on('SIGUSR2', () => watch.reset())
}
