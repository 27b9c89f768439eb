import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../src/index.ts'
import { Pinner } from '../../src/pins/pinner.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { rawCid } from '../support/content-parts.ts'
import { planOf } from '../support/plans.ts'
import { filesIn } from '../support/temp-dir.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const content = pseudoRandom(40_000, 'held')

async function uploaded({ engine, account }: TestEngine): Promise<string> {
  return (await engine.pins.upload(content, { account, name: 'first' })).record.cid
}

const queued = { record: { status: 'queued' }, created: true }
/** Pins content of a backend that has the complete root. */
async function pinOf({
  commit = async () => null,
  isLost = false,
  isFetched = false,
  isLive = true,
}): Promise<unknown> {
  const backend = { id: 0, staging: {} }
  const parts = {
    targets: { requester: async () => ({ account: { owner: null } }), decide: () => ({ clusterId: 'near' }) },
    clusters: { backendOf: () => backend },
    held: { find: () => ({}), isLive: () => isLive, isLostFrom: () => isLost },
    clock: { now: () => 0 },
    commit: { commit },
    network: { usable: () => [], isFetched: async () => isFetched, queue: async () => queued },
  }
  const cid = (await rawCid(content)).toString()
  return new Pinner(parts as never).pin({ account: 'one', cid, isAnew: true })
}

describe('a new pin of content that the cluster has', () => {
  test('is pinned at once, each as a record of its own', () =>
    withEngine(async test => {
      const { engine, account } = test
      const cid = await uploaded(test)
      const created: string[] = []
      const changes: string[] = []
      engine.events.on('pin:created', ({ record }) => created.push(record.status))
      engine.events.on('pin:status', ({ record }) => changes.push(record.status))
      const request = { account, cid, customName: 'again', meta: { app: 'x' }, isAnew: true }
      const made = [await engine.pins.pin(request), await engine.pins.pin(request)]
      expect(made.map(({ created: isNew, record }) => [isNew, record.status, record.size])).toEqual([
        [true, 'pinned', content.length],
        [true, 'pinned', content.length],
      ])
      expect(made[0]?.record).toMatchObject({ type: 'pin', name: 'again', meta: { app: 'x' } })
      expect([created, changes]).toEqual([['pinned', 'pinned'], []])
      expect((await engine.pins.list({ account })).total).toBe(3)
      await engine.pins.discard({ account, uploadId: (await engine.pins.list({ account })).items[2]?.uploadId ?? '' })
      await engine.collect({ graceSeconds: 0 })
      expect((await engine.verify()).damaged).toEqual([])
      expect((await engine.reconcile()).found).toEqual({})
    }))

  test('is refused beyond the quota, and nothing is recorded', () =>
    withEngine(
      async test => {
        const cid = await uploaded(test)
        for (const plan of ['small', 'none']) {
          const account = await test.newAccount(plan)
          const pinned = test.engine.pins.pin({ account, cid, isAnew: true })
          await expect(pinned).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
          expect((await test.engine.pins.list({ account })).total).toBe(0)
        }
      },
      { plans: { small: planOf({ maxStorageBytes: 39_999 }), none: planOf({ maxPins: 0 }) } },
    ))

  test('waits for lost blocks like the other pins', () =>
    withEngine(async test => {
      const { engine, dataDir } = test
      const cid = await uploaded(test)
      const [file = ''] = await filesIn(join(dataDir, 'blocks'))
      await rm(join(dataDir, 'blocks', file))
      expect((await engine.reconcile()).found).toEqual({ 'block-lost': 1 })
      const { record } = await engine.pins.pin({ account: await test.newAccount(), cid, isAnew: true })
      expect(record.status).toBe('queued')
    }))

  test('is queued while the root ended, lacks blocks or has a fetch', async () => {
    expect(await pinOf({ isLive: false })).toBe(queued)
    expect(await pinOf({ isLost: true })).toBe(queued)
    expect(await pinOf({ isFetched: true })).toBe(queued)
    expect(await pinOf({})).toBeNull()
  })

  test('is queued if the root is dropped before the commit', async () => {
    const refuse = (code: 'CID_NOT_FOUND' | 'QUOTA_EXCEEDED') => async () => {
      throw new HoldfastError(code, 'the root is gone')
    }
    expect(await pinOf({ commit: refuse('CID_NOT_FOUND') })).toBe(queued)
    await expect(pinOf({ commit: refuse('QUOTA_EXCEEDED') })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
  })
})
