/**
 * Makes one write of each kind, so that a test can trace its system calls. Prints a line before and after each.
 * Argument: the data directory.
 */
import { writeSync } from 'node:fs'
import { createEngine } from '../../src/index.ts'
import { pseudoRandom } from './bytes.ts'

const [dataDir = ''] = process.argv.slice(2)
const engine = await createEngine({ dataDir })
const account = (await engine.accounts.create({ email: 'writing@example.org', plan: 'unlimited' })).id

async function answered<T>(name: string, write: () => Promise<T>): Promise<T> {
  writeSync(1, `begin ${name}\n`)
  const result = await write()
  writeSync(1, `answer ${name}\n`)
  return result
}

const upload = (size: number) => engine.pins.upload(pseudoRandom(size, `${size}`), { account })
await answered('small', () => upload(100))
const { record } = await answered('file', () => upload(50_000))
await answered('chunks', () => upload(2_500_000))
const stranger = (await engine.accounts.create({ email: 'stranger@example.org', plan: 'unlimited' })).id
for (const size of [101, 50_001, 2_500_001]) {
  const [hidden, absent] = [pseudoRandom(size, `hidden ${size}`), pseudoRandom(size, `absent ${size}`)]
  await engine.pins.upload(hidden, { account, visibility: 'private' })
  await answered(`hidden ${size}`, () => engine.pins.upload(hidden, { account: stranger }))
  await answered(`absent ${size}`, () => engine.pins.upload(absent, { account: stranger }))
}
await engine.pins.remove({ account, cid: record.cid })
await answered('collection', () => engine.collect({ graceSeconds: 0 }))
await engine.stop()
