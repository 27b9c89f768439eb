/**
 * Writes rows that ask for work, and kills itself before the work is done. The rows are a record that expires, a job that
 * deletes many records, and a deleted account. Argument: the data directory. Prints the time of its clock.
 */
import { writeSync } from 'node:fs'
import { createEngine } from '../../src/index.ts'
import { TestClock } from '../../src/testing/index.ts'
import { newDirectory } from './new-database.ts'

const HOUR_MS = 3_600_000
const [dataDir = ''] = process.argv.slice(2)
const clock = new TestClock()
const engine = await createEngine({
  dataDir: newDirectory(dataDir),
  clock,
  bulk: { undoSeconds: 3_600 }, // feature: bulk
})
const newAccount = async (name: string): Promise<string> =>
  (await engine.accounts.create({ email: `${name}@example.org`, plan: 'unlimited' })).id
const [kept, deleted] = [await newAccount('kept'), await newAccount('deleted')]
const timelock = new Date(clock.now() + HOUR_MS)
await engine.pins.upload('expires', { account: kept, timelock })
const ids: string[] = []
for (let i = 0; i < 60; i++) {
  ids.push((await engine.pins.upload(`bulk ${i}`, { account: kept })).record.uploadId)
  await engine.pins.upload(`deleted ${i}`, { account: deleted })
}
writeSync(1, `${clock.now()}\n`)
await Promise.all([
  engine.accounts.delete(deleted),
  engine.jobs.start({ account: kept, action: 'delete', ids }), // feature: bulk
])
process.kill(process.pid, 'SIGKILL')
