import { mkdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../src/index.ts'
import { blockFileOf } from '../support/block-place.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { readBlock, readFile, viaGateway } from '../support/read-back.ts'
import { RecordingFiles } from '../support/recording-files.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const SIZE = 300_000
const CONTENT = pseudoRandom(SIZE, 'content')

/** Uploads content of one block, damages the block, and records the events of the engine. */
async function withDamage(
  damage: (file: string) => Promise<unknown>,
  run: (test: TestEngine & { cid: string; told: string[] }) => Promise<void>,
): Promise<void> {
  await withEngine(async test => {
    const told: string[] = []
    test.engine.events.on('block:damaged', ({ cid, reason }) => told.push(`damaged ${cid} ${reason}`))
    test.engine.events.on('block:healed', ({ cid }) => told.push(`healed ${cid}`))
    const { record } = await test.engine.pins.upload(CONTENT, { account: test.account })
    await damage(join(test.dataDir, 'blocks', blockFileOf(CID.parse(record.cid))))
    await run(Object.assign(test, { cid: record.cid, told }))
  })
}

describe('damage', () => {
  test.each(['EIO', 'EACCES'])('a block whose file fails with %s is reported, healed by upload', async code => {
    const files = new RecordingFiles()
    const run = async ({ engine, account }: TestEngine): Promise<void> => {
      const { cid } = (await engine.pins.upload(CONTENT, { account })).record
      files.fail = operation => (operation === 'read' ? code : undefined)
      const reason = expect.stringContaining(`cannot be read: ${code}`)
      expect((await engine.verify()).damaged).toMatchObject([{ cid, reason }])
      await expect(readBlock(engine, CID.parse(cid))).rejects.toMatchObject({
        code: 'BLOCK_DAMAGED',
      })
      files.log.length = 0
      expect((await engine.pins.upload(CONTENT, { account })).created).toBe(false)
      expect(files.log.filter(line => line.startsWith('rename ')).length).toBe(2)
      files.fail = () => undefined
      expect((await engine.verify()).damaged).toEqual([])
    }
    await withEngine(run, { fileSystem: files })
  })

  test('too many open files do not count as damage', async () => {
    const files = new RecordingFiles()
    const run = async ({ engine, account }: TestEngine): Promise<void> => {
      const { cid } = (await engine.pins.upload(CONTENT, { account })).record
      files.fail = operation => (operation === 'read' ? 'EMFILE' : undefined)
      await expect(readBlock(engine, CID.parse(cid))).rejects.toMatchObject({
        code: 'UNAVAILABLE',
      })
      await expect(engine.verify()).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    }
    await withEngine(run, { fileSystem: files })
  })

  test.each<[string, (file: string) => Promise<unknown>, string]>([
    ['truncated', file => truncate(file, 10), `has 10 of ${SIZE} bytes`],
    ['missing', file => rm(file), 'is missing'],
    ['a directory', file => directoryInPlaceOf(file), 'cannot be read: EISDIR'],
    ['changed', file => writeFile(file, pseudoRandom(SIZE, 'other')), 'has the wrong hash'],
  ])('a block that is %s is reported, never served, healed by upload', async (_, damage, reason) => {
    await withDamage(damage, async ({ engine, account, cid, told }) => {
      await expect(readBlock(engine, CID.parse(cid))).rejects.toMatchObject({ code: 'BLOCK_DAMAGED' })
      expect(told).toEqual([`damaged ${cid} ${reason}`])
      const { damaged } = await engine.verify()
      expect(damaged).toMatchObject([{ cid, roots: [cid], reason: expect.stringContaining(reason) }])
      const again = await engine.pins.upload(CONTENT, { account })
      expect(again.created).toBe(false)
      expect(told.at(-1)).toBe(`healed ${cid}`)
      expect((await readFile(await engine.clusters.backendOf(), cid)).equals(CONTENT)).toBe(true)
      expect((await engine.verify()).damaged).toEqual([])
      expect((await viaGateway(engine, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
    })
  })

  test('a response that cannot be whole ends with an error', async () => {
    await withDamage(
      file => rm(file),
      async ({ engine, cid }) => {
        const outcome = await viaGateway(engine, `/ipfs/${cid}`).catch((error: unknown) => error)
        if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'BLOCK_DAMAGED' })
        else expect(outcome).not.toMatchObject({ status: 200 })
      },
    )
  })

  test('a damaged small block is reported and healed', async () => {
    await withEngine(async ({ engine, account, dataDir }) => {
      const small = pseudoRandom(2_000, 'small')
      const { cid } = (await engine.pins.upload(small, { account })).record
      withDatabase(dataDir, db => db.prepare("UPDATE small_blocks SET bytes = CAST('x' AS BLOB)").run())
      expect((await engine.verify()).damaged).toMatchObject([{ cid, roots: [cid] }])
      await engine.pins.upload(small, { account })
      expect((await readFile(await engine.clusters.backendOf(), cid)).equals(small)).toBe(true)
    })
  })

  test('much damage is reported by its first blocks and total', async () => {
    await withEngine(async ({ engine, account, dataDir }) => {
      const content = Array.from({ length: 1_005 }, (_, at) => fileOf(`${at}.txt`, `${at}`))
      await engine.pins.uploadDirectory(entriesOf(content), { account })
      for (let at = 0; at < 101; at++) {
        const own = fileOf('own.txt', `own ${at}`)
        await engine.pins.uploadDirectory(entriesOf([...content.slice(0, 1), own]), { account })
      }
      withDatabase(dataDir, db => db.prepare("UPDATE small_blocks SET bytes = CAST('x' AS BLOB)").run())
      const { blocks, damaged, damagedBlocks } = await engine.verify()
      expect(blocks).toBeGreaterThan(1_005)
      // The large directory itself is a file.
      expect(damagedBlocks).toBe(blocks - 1)
      expect(damaged.length).toBe(1_000)
      expect(Math.max(...damaged.map(({ roots }) => roots.length))).toBe(100)
    })
  })

  test('a collection accepts missing files of garbage', async () => {
    await withDamage(
      file => rm(file),
      async ({ engine, account, cid }) => {
        await engine.pins.remove({ account, cid })
        expect(await engine.collect({ graceSeconds: 0 })).toMatchObject({ roots: 1, blocks: 1 })
      },
    )
  })
})

async function directoryInPlaceOf(file: string): Promise<void> {
  await rm(file)
  await mkdir(file)
  await writeFile(join(file, 'something'), 'of somebody')
}

function fileOf(path: string, content: string): DirectoryEntry {
  return { kind: 'file', path, content: [Buffer.from(content)] }
}

async function* entriesOf(entries: readonly DirectoryEntry[]): AsyncGenerator<DirectoryEntry> {
  yield* entries
}
