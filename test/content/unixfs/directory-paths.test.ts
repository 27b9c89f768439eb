import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../../src/index.ts'
import { readTree } from '../../support/read-back.ts'
import { EMPTY, storeSizes } from '../../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../../support/test-engine.ts'

async function* filesAt(...paths: string[]): AsyncGenerator<DirectoryEntry> {
  for (const path of paths) yield { kind: 'file', path, content: Buffer.from(path) }
}

function upload({ engine, account }: TestEngine, entries: AsyncIterable<DirectoryEntry>) {
  return engine.pins.uploadDirectory(entries, { account })
}

describe('paths of an uploaded directory', () => {
  test.each([
    ['the same path twice', ['a', 'b', 'a']],
    ['the same path written differently', ['a/b', 'a//./b']],
    ['a file below a file', ['a', 'a/b']],
    ['a file where a directory is', ['a/b', 'a']],
    ['a path out of it', ['a', '../b']],
    ['an absolute path', ['/a']],
    ['an empty path', ['']],
  ])('that are %s are refused, and leave nothing', async (_, paths) => {
    await withEngine(async test => {
      await expect(upload(test, filesAt(...paths))).rejects.toMatchObject({ code: 'INVALID_PATH' })
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('that are missing are refused', async () => {
    await withEngine(async test => {
      await expect(upload(test, filesAt())).rejects.toMatchObject({ code: 'VALIDATION' })
    })
  })

  test('that arrive after the content are checked then', async () => {
    await withEngine(async test => {
      const read: string[] = []
      const late = (path: string): AsyncGenerator<DirectoryEntry> =>
        (async function* () {
          const content = (async function* (): AsyncGenerator<Uint8Array> {
            read.push(path)
            yield Buffer.from('late')
          })()
          yield { kind: 'file', path: () => (read.includes(path) ? path : 'asked too early'), content }
          yield { kind: 'file', path: 'b', content: Buffer.from('b') }
        })()
      const { record } = await upload(test, late('x/late'))
      expect(Object.keys(await readTree(await test.engine.clusters.backendOf(), record.cid)).sort()).toEqual([
        'b',
        'x',
        'x/late',
      ])
      for (const wrong of ['b', '../x', 'b/c']) {
        await expect(upload(test, late(wrong))).rejects.toMatchObject({ code: 'INVALID_PATH' })
      }
    })
  })

  test('may have many names, up to a limit', async () => {
    await withEngine(async test => {
      const deepest = `${'d/'.repeat(255)}f`
      const { record } = await upload(test, filesAt(deepest))
      expect(Object.keys(await readTree(await test.engine.clusters.backendOf(), record.cid))).toContain(deepest)
      for (const names of [256, 20_000]) {
        await expect(upload(test, filesAt(`${'d/'.repeat(names)}f`))).rejects.toMatchObject({ code: 'INVALID_PATH' })
      }
    })
  })
})
