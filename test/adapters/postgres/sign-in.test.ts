import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { postgresSignIn } from '../../../adapters/postgres/access/postgres-sign-in.ts'
import { agreeOnKey } from '../../../adapters/postgres/access/sealing-key.ts'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { migrate } from '../../../adapters/postgres/schema/migrate.ts'
import { migrations } from '../../../adapters/postgres/schema/schema.ts'
import { RequestLimits } from '../../../src/access/limits/request-limits.ts'
import { RequestShares } from '../../../src/access/limits/request-shares.ts'
import { SessionTokens } from '../../../src/access/sessions/session-token.ts'
import { SigningKeys } from '../../../src/access/sessions/signing-keys.ts'
import type { SharedSignIn } from '../../../src/catalogue/sign-in.ts'
import { sealingWith } from '../../../src/domain/sealing.ts'
import { requestWindows, windowRules } from '../../access/window-rules.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { emptied } from './emptied.ts'

const DAY_MS = 24 * 60 * 60 * 1_000
const sealing = sealingWith(new Uint8Array(32))

describe('sign-in state that nodes share', needsPostgres, () => {
  let server: SharedPostgres
  let here: Postgres
  let there: Postgres
  let nodes: [SharedSignIn, SharedSignIn]
  beforeAll(async () => {
    server = await sharedPostgres()
    const url = await server.migrated()
    here = await Postgres.open({ url })
    there = await Postgres.open({ url })
    await migrate(here, migrations)
    nodes = [postgresSignIn(here, sealing), postgresSignIn(there, sealing)]
  })
  beforeEach(() => emptied(here))
  afterAll(async () => {
    await here?.close()
    await there?.close()
    await server?.stop()
  })

  const countOf = async (table: string): Promise<number> =>
    (await here.reading.first<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`))?.count ?? 0

  describe('attempts', () => {
    const limit = { requests: 5, windowSeconds: 900 }

    test('are counted exactly across nodes', async () => {
      const stores = nodes.map(({ attempts }) => attempts('login account'))
      // The transactions may commit in another order than they began, but not every time.
      for (const key of ['other', 'another', 'a third', 'a fourth', 'one']) {
        const asked = Array.from({ length: 20 }, (_, i) => stores[i % 2]?.take(key, limit))
        const allowed = (await Promise.all(asked)).filter(decision => decision?.allowed)
        expect(allowed).toHaveLength(5)
      }
      const refused = await stores[0]?.take('one', limit)
      expect(refused).toMatchObject({ allowed: false })
      expect(refused?.msLeft).toBeGreaterThan(800_000)
      expect(refused?.msLeft).toBeLessThanOrEqual(900_000)
      expect(await nodes[1].attempts('code').take('one', limit)).toMatchObject({ allowed: true })
    })

    test('do not count once released, cleared or expired', async () => {
      const [first, second] = [nodes[0].attempts('code'), nodes[1].attempts('code')]
      const isAllowed = async () => (await second.take('one', limit)).allowed
      for (let i = 0; i < 5; i++) await first.take('one', limit)
      expect(await isAllowed()).toBe(false)
      await first.release('one')
      expect([await isAllowed(), await isAllowed()]).toEqual([true, false])
      await first.clear('one')
      for (let i = 0; i < 5; i++) expect(await isAllowed()).toBe(true)
      expect(await isAllowed()).toBe(false)
      await here.command("UPDATE attempts SET ends_at = ends_at - INTERVAL '1 hour'")
      expect(await isAllowed()).toBe(true)
    })

    test('are deleted after their window as others begin', async () => {
      const store = nodes[0].attempts('login address')
      for (let i = 0; i < 20; i++) await store.take(`a${i}`, limit)
      await here.command("UPDATE attempts SET ends_at = ends_at - INTERVAL '1 hour'")
      for (let i = 0; i < 6; i++) await store.take(`b${i}`, limit)
      expect(await countOf('attempts')).toBe(6)
    })
  })

  test('another node completes a login once', async () => {
    const [one, other] = nodes.map(({ challenges }) => challenges)
    const challenge = { accountId: 'one', passwordHash: 'scrypt', expiresAt: 1_000 }
    await one?.insert(Buffer.from('t'), challenge, 500)
    expect(await other?.get(Buffer.from('t'))).toEqual(challenge)
    expect(await Promise.all([one, other].map(store => store?.remove(Buffer.from('t'))))).toContain(false)
    expect(await one?.get(Buffer.from('t'))).toBeNull()
    await one?.insert(Buffer.from('late'), challenge, 500)
    await one?.insert(Buffer.from('next'), { ...challenge, expiresAt: 2_000 }, 1_000)
    expect(await countOf('login_challenges')).toBe(1)
  })

  describe('session tokens', () => {
    const claims = (at: number) => ({ id: 's', accountId: 'a', createdAt: at, expiresAt: at + DAY_MS })
    const nodesAt = (clock: ManualClock) =>
      nodes.map(({ signingKeys }) => {
        const keys = new SigningKeys(signingKeys, clock, DAY_MS)
        return { keys, tokens: new SessionTokens(keys, clock) }
      }) as [{ keys: SigningKeys; tokens: SessionTokens }, { keys: SigningKeys; tokens: SessionTokens }]

    test('are accepted by other nodes, including those with a new key', async () => {
      const clock = new ManualClock(Date.parse('2030-01-01'))
      const [one, other] = nodesAt(clock)
      for (let round = 0; round < 3; round++) {
        const token = await one.tokens.sign(claims(clock.now()))
        expect(await other.tokens.verify(token)).toMatchObject({ id: 's' })
        clock.advance(30 * DAY_MS)
      }
    })

    test('are signed with one key by nodes that create it concurrently', async () => {
      const clock = new ManualClock(Date.parse('2030-01-01'))
      const pair = nodesAt(clock)
      for (let round = 1; round <= 2; round++) {
        const made = await Promise.all(pair.map(({ keys }) => keys.current()))
        expect(made[0]?.kid).toBe(made[1]?.kid)
        expect(await countOf('signing_keys')).toBe(round)
        clock.advance(30 * DAY_MS)
      }
    })

    test('have sealed keys that only the shared key opens', async () => {
      const clock = new ManualClock(Date.parse('2030-01-01'))
      await nodesAt(clock)[0].keys.current()
      const [kept] = await nodes[1].signingKeys.load()
      const [row] = await here.reading.all<{ secret: Uint8Array }>('SELECT secret FROM signing_keys')
      expect(Buffer.from(row?.secret ?? []).includes(Buffer.from(kept?.secret ?? '', 'base64url'))).toBe(false)
      const stranger = postgresSignIn(there, sealingWith(new Uint8Array(32).fill(1)))
      await expect(stranger.signingKeys.load()).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' })
    })

    test('with unknown keys are refused after one query at a time', async () => {
      const clock = new ManualClock(Date.parse('2030-01-01'))
      let looks = 0
      const load = async () => {
        looks++
        return []
      }
      const keys = new SigningKeys({ load, replace: async () => [] }, clock, DAY_MS)
      const found = await Promise.all(Array.from({ length: 50 }, (_, i) => keys.find(`none ${i}`)))
      expect(found.every(key => key === undefined)).toBe(true)
      expect(looks).toBe(2)
    })
  })

  test('all nodes seal with the key of the first', async () => {
    const named = (own: string, asked: Array<string | null>) => (expected: string | null) => {
      asked.push(expected)
      return own
    }
    const asked: Array<string | null> = []
    await Promise.all([agreeOnKey(here, named('first', asked)), agreeOnKey(there, named('first', asked))])
    await agreeOnKey(there, named('other', asked))
    expect(asked).toEqual([null, 'first', 'first'])
  })

  describe('windows in PostgreSQL', () => {
    const pass = async (ms: number) => {
      for (const table of ['attempts', 'request_windows']) {
        await here.command(`UPDATE ${table} SET ends_at = ends_at - $1 * INTERVAL '1 ms'`, [ms])
      }
    }

    test.each(windowRules)('requests: $name', ({ run }) => {
      const clock = new ManualClock()
      const requests = new RequestLimits({ clock, shared: nodes[0].requests })
      const passing = (ms: number) => {
        clock.advance(ms)
        return pass(ms)
      }
      return run(requestWindows(requests, clock, passing))
    })

    test.each(windowRules)('attempts: $name', ({ run }) => {
      const attempts = nodes[0].attempts('code')
      return run({ take: limit => attempts.take('one', limit), pass })
    })
  })

  describe('requests', () => {
    const limit = { requests: 100, windowSeconds: 60 }
    const sharesAt = (clock: ManualClock) => {
      let questions = 0
      const shares = nodes.map(({ requests }) => {
        const counted = {
          grant: (buckets: Parameters<typeof requests.grant>[0]) => {
            questions++
            return requests.grant(buckets)
          },
        }
        return new RequestShares(counted, clock)
      })
      const take = async (node: number, key = 'one', most = limit) =>
        (await shares[node]?.take([{ key, limit: most }]))?.[0]?.allowed === true
      return { shares, take, questions: () => questions }
    }

    test('pass up to the limit with few queries', async () => {
      const { take, questions } = sharesAt(new ManualClock())
      let passed = 0
      for (let i = 0; i < 300; i++) if (await take(0, 'alone')) passed++
      expect(passed).toBe(100)
      expect(questions()).toBeLessThanOrEqual(20)
      let byTurns = 0
      for (let i = 0; i < 300; i++) if (await take(i % 2)) byTurns++
      expect(byTurns).toBeLessThanOrEqual(100)
      expect(byTurns).toBeGreaterThanOrEqual(90)
      expect(questions()).toBeLessThanOrEqual(50)
    })

    test('never pass more than the limit across nodes', async () => {
      const { take } = sharesAt(new ManualClock())
      const passed = await Promise.all(Array.from({ length: 400 }, (_, i) => take(i % 2)))
      expect(passed.filter(Boolean).length).toBeLessThanOrEqual(100)
      expect(passed.filter(Boolean).length).toBeGreaterThanOrEqual(75)
    })

    test('leave at most a quarter unused on another node', async () => {
      const { take } = sharesAt(new ManualClock())
      expect(await take(0)).toBe(true)
      let passed = 0
      for (let i = 0; i < 300; i++) if (await take(1)) passed++
      expect(passed).toBe(75)
    })

    test('start again after the window; a refusal uses no other limit', async () => {
      const clock = new ManualClock()
      const { take, shares } = sharesAt(clock)
      const tight = { requests: 1, windowSeconds: 60 }
      expect([await take(0, 'tight', tight), await take(1, 'tight', tight)]).toEqual([true, false])
      const both = [
        { key: 'wide', limit },
        { key: 'tight', limit: tight },
      ]
      const [wide] = (await shares[0]?.take(both)) ?? []
      expect([wide?.allowed, wide?.share.used]).toEqual([true, 0])
      await here.command("UPDATE request_windows SET ends_at = ends_at - INTERVAL '1 hour'")
      expect(await take(0, 'tight', tight)).toBe(false)
      clock.advance(60_000)
      expect(await take(0, 'tight', tight)).toBe(true)
    })

    test('delete expired windows', async () => {
      const { take } = sharesAt(new ManualClock())
      for (let i = 0; i < 20; i++) await take(0, `a${i}`)
      await here.command("UPDATE request_windows SET ends_at = ends_at - INTERVAL '1 hour'")
      for (let i = 0; i < 6; i++) await take(0, `b${i}`)
      expect(await countOf('request_windows')).toBe(6)
    })
  })
})
