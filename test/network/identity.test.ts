import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { Key } from 'interface-datastore'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { openDataKey } from '../../src/storage/data-key.ts'
import { newDirectory } from '../support/new-database.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withNode } from './support/node.ts'

const SELF = new Key('/pkcs8/self')

async function withStore<T>(dataDir: string, run: (store: LevelDatastore) => Promise<T>): Promise<T> {
  const store = new LevelDatastore(join(dataDir, 'datastore'))
  await store.open()
  try {
    return await run(store)
  } finally {
    await store.close()
  }
}

/** Returns the datastore's files that contain these bytes. */
async function filesWith(dataDir: string, bytes: Uint8Array): Promise<string[]> {
  const folder = join(dataDir, 'datastore')
  const found = await Promise.all(
    (await readdir(folder)).map(async name =>
      (await readFile(join(folder, name))).includes(Buffer.from(bytes)) ? name : null,
    ),
  )
  return found.filter(name => name !== null)
}

async function peerIdOf(dataDir: string): Promise<string | undefined> {
  const engine = await createEngine({ dataDir: newDirectory(dataDir), network: { enabled: true } })
  const id = (await engine.addresses())[0]?.split('/p2p/')[1]
  await engine.stop()
  return id
}

describe('the identity of a node', () => {
  test('is sealed on disk from the first start and survives restarts', () =>
    withTempDir(async dataDir => {
      const id = await peerIdOf(dataDir)
      expect(await peerIdOf(dataDir)).toBe(id)
      const stored = await withStore(dataDir, async store => store.get(SELF))
      const clear = withDatabase(dataDir, db => openDataKey(db, dataDir).open(stored, `datastore ${SELF}`))
      expect(await filesWith(dataDir, stored)).not.toEqual([])
      expect(await filesWith(dataDir, clear)).toEqual([])
    }))

  test.each([[true], [false]])('is sealed at the next start if stored as plaintext (network: %s)', network =>
    withTempDir(async dataDir => {
      const id = await withNode(dataDir, {}, async node => node.peerId)
      const clear = await withStore(dataDir, async store => store.get(SELF))
      expect(await filesWith(dataDir, clear)).not.toEqual([])
      await (await createEngine({ dataDir: newDirectory(dataDir), network: { enabled: network } })).stop()
      expect(await filesWith(dataDir, clear)).toEqual([])
      expect(await peerIdOf(dataDir)).toBe(id)
    }),
  )

  test("is refused with its key's name if someone altered it", () =>
    withTempDir(async dataDir => {
      await peerIdOf(dataDir)
      await withStore(dataDir, async store => {
        const sealed = Uint8Array.from(await store.get(SELF))
        sealed[20] = (sealed[20] ?? 0) ^ 1
        await store.put(SELF, sealed)
      })
      await expect(peerIdOf(dataDir)).rejects.toMatchObject({
        code: 'DATA_DIR_UNUSABLE',
        message: expect.stringContaining('/pkcs8/self'),
      })
    }))
})
