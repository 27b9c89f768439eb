import { describe, expect, test } from 'vitest'
import type { DirectoryEntry } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { gate, turns } from '../support/content-parts.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const MiB = 1024 ** 2
const never = new Promise<never>(() => undefined)

/** Yields `chunks` MiB, reports it, and then runs `then`. */
async function* source(chunks: number, then: () => Promise<void>, given?: () => void): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < chunks; i++) yield pseudoRandom(MiB, `${chunks} ${i}`)
  given?.()
  await then()
}

async function* entries(then: () => Promise<void>, given?: () => void): AsyncGenerator<DirectoryEntry> {
  yield { kind: 'file', path: 'a/small', content: Buffer.from('small') }
  yield { kind: 'file', path: 'a/large', content: pseudoRandom(3 * MiB, 'large') }
  given?.()
  await then()
}

async function expectNothing(test: TestEngine): Promise<void> {
  expect(await test.engine.pins.list({ account: test.account })).toMatchObject({ items: [], total: 0 })
  expect(await test.engine.pins.usage(test.account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
  await test.engine.collect({ graceSeconds: 0 })
  expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
}

/** Kinds of upload that can hang; each reports when it does. */
const HANGING: Array<
  [string, (test: TestEngine, signal: AbortSignal | undefined, given: () => void) => Promise<unknown>]
> = [
  [
    'a file whose source stalls',
    ({ engine, account }, signal, given) =>
      engine.pins.upload(
        source(5, () => never, given),
        { account, signal },
      ),
  ],
  [
    'a directory whose entries stall',
    ({ engine, account }, signal, given) =>
      engine.pins.uploadDirectory(
        entries(() => never, given),
        { account, signal },
      ),
  ],
  [
    'a file in a directory that stalls',
    ({ engine, account }, signal, given) =>
      engine.pins.uploadDirectory(
        (async function* (): AsyncGenerator<DirectoryEntry> {
          yield { kind: 'file', path: 'first', content: pseudoRandom(MiB, 'first') }
          yield { kind: 'file', path: 'second', content: source(2, () => never, given) }
        })(),
        { account, signal },
      ),
  ],
  [
    'late fields that never come',
    ({ engine, account }, signal, given) =>
      engine.pins.upload(pseudoRandom(2 * MiB, 'late'), {
        account,
        signal,
        late: () => {
          given()
          return never
        },
      }),
  ],
]

describe('an interrupted upload', () => {
  test('leaves nothing when its source throws, even during collections', async () => {
    await withEngine(async test => {
      for (let chunks = 0; chunks < 8; chunks++) {
        const broken = source(chunks, () => Promise.reject(new Error('broken pipe')))
        const upload = test.engine.pins.upload(broken, { account: test.account })
        await expect(upload).rejects.toThrow('broken pipe')
        await Promise.all([test.engine.collect({ graceSeconds: 0 }), turns(20)])
      }
      await expectNothing(test)
    })
  })

  test("leaves nothing when a directory's entries or one file throw", async () => {
    await withEngine(async test => {
      const { pins } = test.engine
      const fail = (): Promise<never> => Promise.reject(new Error('broken pipe'))
      const half = (async function* (): AsyncGenerator<DirectoryEntry> {
        yield { kind: 'file', path: 'whole', content: pseudoRandom(2 * MiB, 'whole') }
        yield { kind: 'file', path: 'half', content: source(2, fail) }
      })()
      await expect(pins.uploadDirectory(entries(fail), { account: test.account })).rejects.toThrow('broken pipe')
      await expect(pins.uploadDirectory(half, { account: test.account })).rejects.toThrow('broken pipe')
      await expectNothing(test)
    })
  })

  test('leaves nothing when it is refused at its end', async () => {
    await withEngine(async test => {
      const { pins } = test.engine
      const upload = (late: { cluster?: string; timelock?: string; customName?: string }) =>
        pins.upload(pseudoRandom(2 * MiB, 'refused'), { account: test.account, late: async () => late })
      await expect(upload({ cluster: 'nowhere' })).rejects.toMatchObject({ code: 'CLUSTER_NOT_ALLOWED' })
      await expect(upload({ timelock: 'tomorrow' })).rejects.toMatchObject({ code: 'INVALID_TIMELOCK' })
      await expect(upload({ customName: 'x'.repeat(256) })).rejects.toMatchObject({ code: 'VALIDATION' })
      await expectNothing(test)
    })
  })

  test.each(HANGING)('%s ends with its signal and leaves nothing', async (_, start) => {
    await withEngine(async test => {
      const controller = new AbortController()
      const hanging = gate()
      const upload = start(test, controller.signal, hanging.open)
      await hanging.opened
      await turns(5)
      controller.abort()
      await expect(upload).rejects.toMatchObject({ code: 'ABORTED' })
      await expectNothing(test)
    })
  })

  test.each(HANGING)('%s ends with the engine, and the next start has nothing', async (_, start) => {
    await withEngine(async test => {
      const hanging = gate()
      const refused = expect(start(test, undefined, hanging.open)).rejects.toMatchObject({ code: 'ABORTED' })
      await hanging.opened
      await test.restart()
      await refused
      await expectNothing(test)
    })
  })

  test('with an aborted signal is refused without a read', async () => {
    await withEngine(async test => {
      const read: string[] = []
      const unread = (async function* (): AsyncGenerator<Uint8Array> {
        read.push('read')
        yield pseudoRandom(10, 'unread')
      })()
      const upload = test.engine.pins.upload(unread, { account: test.account, signal: AbortSignal.abort() })
      await expect(upload).rejects.toMatchObject({ code: 'ABORTED' })
      expect(read).toEqual([])
      await expectNothing(test)
    })
  })

  test('is refused by name after the engine has stopped', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      await engine.stop()
      await engine.stop()
      await expect(engine.pins.upload(Buffer.from('x'), { account })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
    })
  })
})
