/**
 * Stores and removes content until it is killed. Prints each acknowledgement as a line of JSON before it continues.
 * Arguments: the data directory, an account id, a seed.
 */
import { writeSync } from 'node:fs'
import { createEngine, type DirectoryEntry, type PinRecord } from '../../src/index.ts'
import { pseudoRandom, sha256Hex } from './bytes.ts'

/** `stored` and `removed` have been acknowledged. `removing` was requested, with an open outcome. */
export type Told =
  | { stored: string; cid: string; hashes: Record<string, string> }
  | { removing: string }
  | { removed: string }
  | { ready: true }

const SIDE_BY_SIDE = 3

const [dataDir = '', account = '', seed = ''] = process.argv.slice(2)
let drawn = 0

/** Returns the same pseudo-random integer from 0 to `limit - 1` for the same seed. */
function draw(limit: number): number {
  return pseudoRandom(4, `${seed} draw ${drawn++}`).readUInt32LE() % limit
}

function print(line: Told): void {
  writeSync(1, `${JSON.stringify(line)}\n`)
}

function randomContent(label: string): Buffer {
  const size = [draw(30_000), 33_000 + draw(200_000), 1_000_000 + draw(1_500_000)][draw(3)] ?? 0
  // A quarter of the contents repeat those of other uploads and of earlier processes.
  return pseudoRandom(size, draw(4) === 0 ? `shared ${size % 7}` : `${seed} ${label}`)
}

async function* entriesOf(files: Map<string, Buffer>): AsyncGenerator<DirectoryEntry> {
  for (const [path, content] of files) yield { kind: 'file', path, content }
}

const engine = await createEngine({ dataDir })
const mine: PinRecord[] = []

async function storeFile(label: string): Promise<void> {
  const content = randomContent(label)
  const { record } = await engine.pins.upload(content, { account, name: label })
  print({ stored: record.uploadId, cid: record.cid, hashes: { '': sha256Hex(content) } })
  mine.push(record)
}

async function storeDirectory(label: string): Promise<void> {
  const files = new Map<string, Buffer>()
  for (let i = 0, count = 2 + draw(30); i < count; i++) {
    files.set(
      `d${i % 3}/f${i}`,
      i === 0 ? randomContent(`${label} ${i}`) : pseudoRandom(draw(3_000), `${seed} ${label} ${i}`),
    )
  }
  const { record } = await engine.pins.uploadDirectory(entriesOf(files), { account, name: label })
  const hashes = Object.fromEntries([...files].map(([path, content]) => [path, sha256Hex(content)]))
  print({ stored: record.uploadId, cid: record.cid, hashes })
  mine.push(record)
}

async function removeOne(): Promise<void> {
  const [record] = mine.splice(draw(mine.length), 1)
  if (record === undefined) return
  // A removal takes all pins of the same CID.
  const { items } = await engine.pins.list({ account, cid: record.cid })
  if (items.length !== 1) return
  print({ removing: record.uploadId })
  const removed = await engine.pins.remove({ account, cid: record.cid })
  for (const { uploadId } of removed) print({ removed: uploadId })
}

async function work(worker: number): Promise<never> {
  for (let i = 0; ; i++) {
    const label = `${worker}-${i}`
    const choice = draw(5)
    if (choice < 2) await storeFile(label)
    else if (choice === 2) await storeDirectory(label)
    else if (choice === 3 && mine.length > 0) await removeOne()
    else await engine.collect({ graceSeconds: 0 })
  }
}

print({ ready: true })
await Promise.all(Array.from({ length: SIDE_BY_SIDE }, (_, worker) => work(worker)))
