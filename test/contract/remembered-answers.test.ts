import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { describe, expect, test, vi } from 'vitest'
import { RememberedAnswers } from '../../src/contract/remembered-answers.ts'
import { jsonResponse } from '../../src/http/json-body.ts'
import { SCOPES } from '../../src/index.ts'
import { PinService } from '../../src/pins/pin-service.ts'
import { callApi } from '../support/api-call.ts'
import { Draws } from '../support/draws.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { planOf } from '../support/plans.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

describe('a cached answer', () => {
  function world() {
    const clock = new ManualClock()
    const state = { version: 'one', nextExpiry: null as number | null, found: 0, isLive: false, size: 1 }
    const answers = new RememberedAnswers({
      versions: { of: () => ({ version: state.version, nextExpiry: async () => state.nextExpiry }) },
      clock,
      mostBytes: 10_000,
    })
    const answerOf = (body: object) => ({ response: jsonResponse(200, body), cid: 'a cid', isLive: state.isLive })
    const find = async () =>
      answerOf({ found: ++state.found, ...(state.size > 1 && { filler: 'f'.repeat(state.size) }) })
    const ask = async (question = 'q') => {
      const { response, cid } = await answers.answer('account', question, find)
      return { body: response.body, cid }
    }
    return { clock, state, answers, answerOf, ask }
  }

  test('is reused until the next write', async () => {
    const { state, ask } = world()
    for (let time = 0; time < 5; time++) expect(await ask()).toEqual({ body: '{"found":1}', cid: 'a cid' })
    await ask('another')
    expect(state.found).toBe(2)
    state.version = 'two'
    expect((await ask()).body).toBe('{"found":3}')
    expect((await ask()).body).toBe('{"found":3}')
  })

  test('is not reused after an expiry or a backward clock', async () => {
    const { state, clock, ask } = world()
    state.nextExpiry = clock.now() + 10
    await ask()
    clock.advance(9)
    await ask()
    expect(state.found).toBe(1)
    clock.advance(1)
    await ask()
    await ask()
    expect(state.found).toBe(3)
    state.nextExpiry = null
    await ask()
    clock.jump(-5)
    await ask()
    expect(state.found).toBe(5)
  })

  test('is not stored after a concurrent write, or if it is live', async () => {
    const { state, answers, answerOf, ask } = world()
    const late = async () => {
      state.version = 'two'
      return answerOf({ late: true })
    }
    await answers.answer('account', 'q', late)
    expect((await ask()).body).toBe('{"found":1}')
    state.version = 'three'
    state.isLive = true
    await ask()
    await ask()
    expect(state.found).toBe(3)
  })

  test('is evicted when others need its memory', async () => {
    const { state, ask } = world()
    state.size = 1_000
    for (const question of ['a', 'b', 'c', 'a', 'b', 'c']) await ask(question)
    expect(state.found).toBe(3)
    for (const question of ['d', 'a']) await ask(question)
    expect(state.found).toBe(5)
  })

  test('is not stored if it is an error', async () => {
    const { state, answers, ask } = world()
    await expect(answers.answer('account', 'q', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    await ask()
    expect(state.found).toBe(1)
  })
})

describe('a list asked for again', () => {
  async function listOf(test: TestEngine, secret: string): Promise<string[]> {
    const { status, json } = await callApi(test.engine, 'GET', '/users/me/uploads', { 'x-api-key': secret })
    expect(status).toBe(200)
    expect(json.total).toBe(json.uploads.length)
    return json.uploads.map(({ name }: { name: string }) => name)
  }

  function withLists(run: (test: TestEngine, list: () => Promise<string[]>) => Promise<void>): Promise<void> {
    return withEngine(async test => {
      const { secret } = await test.engine.keys.create(test.account, { name: 'reads', scopes: ['files:read'] })
      await run(test, () => listOf(test, secret))
    })
  }

  test('reads no record, and follows each change at once', () =>
    withLists(async (test, list) => {
      const { engine, account } = test
      const upload = (name: string) => engine.pins.upload([Buffer.from(name)], { account, name })
      const { record } = await upload('first')
      expect(await list()).toEqual(['first'])
      const found = vi.spyOn(PinService.prototype, 'list')
      expect(await list()).toEqual(['first'])
      expect(found).not.toHaveBeenCalled()
      found.mockRestore()
      await engine.pins.rename({ account, uploadId: record.uploadId, name: 'renamed' })
      expect(await list()).toEqual(['renamed'])
      test.clock.advance(1)
      await upload('second')
      expect(await list()).toEqual(['second', 'renamed'])
      await engine.pins.remove({ account, cid: record.cid })
      expect(await list()).toEqual(['second'])
    }))

  test('omits expired records, even before their removal', () =>
    withLists(async (test, list) => {
      const { engine, account, clock } = test
      const timelock = new Date(clock.now() + 60_000)
      await engine.pins.upload([Buffer.from('passing')], { account, name: 'passing', timelock })
      expect(await list()).toEqual(['passing'])
      clock.jump(59_999)
      expect(await list()).toEqual(['passing'])
      clock.jump(1)
      expect(await list()).toEqual([])
    }))

  test('follows writes of another process, and stays with its account', () =>
    withLists(async (test, list) => {
      const { engine, account, dataDir } = test
      await engine.pins.upload([Buffer.from('one')], { account, name: 'one' })
      expect(await list()).toEqual(['one'])
      const other = await test.newAccount()
      const { secret } = await engine.keys.create(other, { name: 'reads', scopes: ['files:read'] })
      expect(await listOf(test, secret)).toEqual([])
      expect(await list()).toEqual(['one'])
      const db = new BetterSqlite3(join(dataDir, 'holdfast.db'))
      try {
        expect(await list()).toEqual(['one'])
        db.prepare("UPDATE records SET name = 'other' WHERE name = 'one'").run()
      } finally {
        db.close()
      }
      expect(await list()).toEqual(['other'])
    }))
})

describe('a status asked for again', () => {
  test('reads no record, and follows each change of its account at once', () =>
    withEngine(async test => {
      const { engine, account } = test
      const { secret } = await engine.keys.create(account, { name: 'reads', scopes: ['files:read'] })
      const { record } = await engine.pins.upload([Buffer.from('one')], { account, name: 'first' })
      const status = async () => {
        const { json } = await callApi(engine, 'GET', `/status/${record.cid}`, { 'x-api-key': secret })
        return json.name
      }
      expect(await status()).toBe('first')
      const found = vi.spyOn(PinService.prototype, 'status')
      const other = await test.newAccount()
      await engine.pins.upload([Buffer.from('of another account')], { account: other })
      expect(await status()).toBe('first')
      expect(found).not.toHaveBeenCalled()
      found.mockRestore()
      await engine.pins.rename({ account, uploadId: record.uploadId, name: 'second' })
      expect(await status()).toBe('second')
    }))
})

describe('answers asked for again', () => {
  const SEED = Number(process.env.HOLDFAST_TEST_SEED ?? Date.now() % 100_000)
  const plans = { few: planOf({ pageLimit: { default: 3, max: 3 } }) }

  test(`are those of a first question after each change, with seed ${SEED}`, () =>
    withEngine(
      async test => {
        const { engine, account, clock } = test
        const draws = new Draws(SEED)
        const { secret } = await engine.keys.create(account, { name: 'all', scopes: SCOPES })
        const other = await test.newAccount()
        const cids = new Set<string>()
        const ids = async () => {
          const found: string[] = []
          for await (const { uploadId } of engine.pins.all({ account })) found.push(uploadId)
          return found
        }
        const upload = async (name: string, timelock?: Date) => {
          const bytes = Buffer.from(`content ${draws.below(5)}`)
          cids.add((await engine.pins.upload([bytes], { account, name, ...(timelock && { timelock }) })).record.cid)
        }
        const changes: readonly [() => Promise<unknown>, ...Array<() => Promise<unknown>>] = [
          () => upload(`name ${draws.below(1_000)}`),
          () => Promise.all([upload('one'), upload('of'), upload('many')]),
          () => upload('passing', new Date(clock.now() + 60_000)),
          async () => clock.jump(draws.below(90_000)),
          async () => {
            const uploadId = (await ids())[draws.below(3)]
            if (uploadId !== undefined) await engine.pins.rename({ account, uploadId, name: `n${draws.below(1_000)}` })
          },
          async () => {
            const uploadId = (await ids())[draws.below(3)]
            if (uploadId !== undefined) await engine.pins.discard({ account, uploadId })
          },
          () => engine.accounts.setPlan(account, draws.pick(['few', 'unlimited'])),
          () => engine.pins.upload([Buffer.from(`of another ${draws.below(1_000)}`)], { account: other }),
          () => engine.reconcile(),
        ]
        const ask = async (query: string) => {
          const lists = ['/users/me/uploads?limit=50&', '/users/me/uploads?']
          const paths = [...lists, ...[...cids].flatMap(cid => [`/status/${cid}?`, `/allocations/${cid}?`])]
          const answers = await Promise.all(
            paths.map(path => callApi(engine, 'GET', `${path}${query}`, { 'x-api-key': secret })),
          )
          return answers.map(({ status, json: { requestId: _, ...json } }) => ({ status, json }))
        }
        for (let change = 0; change < 60; change++) {
          await ask('')
          await draws.pick(changes)()
          expect(await ask('')).toEqual(await ask(`once=${change}`))
        }
      },
      { plans },
    ))
})
