import { afterEach, describe, expect, test, vi } from 'vitest'
import { builtInPlans, type Plan } from '../../src/domain/plan.ts'
import type { Principal } from '../../src/index.ts'
import { SCOPES } from '../../src/index.ts'
import type { UploadToken } from '../../src/pins/pin-types.ts'
import { LogSync } from '../../src/storage/log-sync.ts'
import { turns } from '../support/content-parts.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Holds syncs to disk until `release` is called. */
function heldSync(): { begun: Promise<void>; release: () => void } {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { run } = LogSync.prototype
  vi.spyOn(LogSync.prototype, 'run').mockImplementation(async function (this: LogSync) {
    begin()
    await released
    await run.call(this)
  })
  return { begun, release }
}

async function tokenOf({ engine, account }: TestEngine, maxUses: number): Promise<UploadToken> {
  const { key } = await engine.keys.create(account, { maxUses })
  if (key.upload === null) throw new Error('no upload token was made')
  return { id: key.id, ...key.upload }
}

async function usesOf({ engine, account }: TestEngine): Promise<number | undefined> {
  return (await engine.keys.list(account, { isUpload: true }))[0]?.uses
}

/** Starts an upload that pauses in the middle until the test continues it. */
function heldUpload({ engine, account }: TestEngine, token: UploadToken, name: string) {
  const { promise: told, resolve: goOn } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const content = (async function* () {
    yield Buffer.from(`held ${name}`)
    begin()
    await told
  })()
  const outcome = engine.pins.upload(content, { account, name, token })
  return { begun, goOn, outcome }
}

describe('an upload token', () => {
  test('reserves a use for each running upload, and releases it on failure', async () => {
    await withEngine(async world => {
      const { engine, account } = world
      const token = await tokenOf(world, 1)
      const gone = new AbortController()
      const broken = engine.pins.upload(forever(), { account, token, signal: gone.signal })
      await turns(20)
      const second = engine.pins.upload([Buffer.from('second')], { account, token })
      await expect(second).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        message: expect.stringContaining('running uploads'),
      })
      gone.abort()
      await expect(broken).rejects.toMatchObject({ code: 'ABORTED' })
      expect(await usesOf(world)).toBe(0)
      expect((await engine.pins.upload([Buffer.from('third')], { account, token })).created).toBe(true)
      expect(await usesOf(world)).toBe(1)
    })
  })

  test('counts each use once during the commit', async () => {
    await withEngine(async world => {
      const { engine, account } = world
      const token = await tokenOf(world, 2)
      const { begun, release } = heldSync()
      const first = engine.pins.upload([Buffer.from('first')], { account, token })
      await begun
      const second = engine.pins.upload([Buffer.from('second')], { account, token })
      second.catch(() => undefined)
      await turns(20)
      release()
      expect([(await first).created, (await second).created]).toEqual([true, true])
      expect(await usesOf(world)).toBe(2)
    })
  })

  test('that is revoked during an upload commits nothing', async () => {
    await withEngine(async world => {
      const { engine, account } = world
      const token = await tokenOf(world, 5)
      const held = heldUpload(world, token, 'one')
      await held.begun
      const [key] = await engine.keys.list(account, { isUpload: true })
      await engine.keys.revokeByName(account, key?.name ?? '')
      held.goOn()
      await expect(held.outcome).rejects.toMatchObject({ code: 'INVALID_API_KEY' })
      expect((await engine.pins.list({ account })).total).toBe(0)
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(world.dataDir)).toEqual(EMPTY)
    })
  })

  test('checks its last use again in the commit', async () => {
    await withEngine(async world => {
      const { engine, account } = world
      const token = await tokenOf(world, 2)
      // Each upload acts like one in another process: reservations of one are unknown to the other.
      const both = [heldUpload(world, token, 'one'), heldUpload(world, token, 'two')]
      for (const { begun } of both) await begun
      const more = { ...token, maxUses: 3 }
      await engine.pins.upload([Buffer.from('third')], { account, token: more })
      for (const { goOn } of both) goOn()
      const ends = await Promise.allSettled(both.map(({ outcome }) => outcome))
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
      expect((await engine.pins.list({ account })).total).toBe(2)
      expect(await usesOf(world)).toBe(2)
    })
  })

  test('keeps its uses across a restart', async () => {
    await withEngine(async world => {
      const token = await tokenOf(world, 2)
      const { account } = world
      await world.engine.pins.upload([Buffer.from('first')], { account, token })
      const engine = await world.restart()
      await engine.pins.upload([Buffer.from('second')], { account, token })
      expect(await usesOf(world)).toBe(2)
      const refused = engine.pins.upload([Buffer.from('third')], { account, token })
      await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    })
  })

  test('cannot create or revoke keys', async () => {
    await withEngine(async world => {
      const { engine, account } = world
      const { id, ...upload } = await tokenOf(world, 1)
      const credential = { kind: 'key' as const, id, name: null, scopes: SCOPES, expiresAt: null, upload }
      const plan = builtInPlans[0] as Plan
      const principal: Principal = { account: await engine.accounts.get(account), plan, credential }
      await expect(engine.keys.generate(principal, { name: 'more' })).rejects.toMatchObject({ code: 'missing_scope' })
      await expect(engine.keys.revoke(principal, 'more')).rejects.toMatchObject({ code: 'missing_scope' })
    })
  })
})

async function* forever(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('begun')
  await new Promise(() => {})
}
