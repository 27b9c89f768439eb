import { describe, expect, test } from 'vitest'
import type { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { HoldfastError } from '../../../src/index.ts'
import { ACCOUNTS, dagOf, listOf, NOW, record, SIZES } from '../../catalogue/content-support.ts'
import { holdsIn } from '../../catalogue/whole-reconciliation.ts'
import { Draws } from '../../support/draws.ts'
import { needsPostgres } from '../../support/postgres-server.ts'
import { blockIntent, insertToken } from './batched-commits.ts'
import { type TestNode, withAccounts, withNode } from './catalogue-in-postgres.ts'
import { emptied } from './emptied.ts'
import { openedDatabase } from './opened-database.ts'

/** Number of random batches. A run with 100,000 takes about ten minutes. */
const BATCHES = Number(process.env.HOLDFAST_TEST_BATCHES ?? 300)
/** Batches after which the catalogue is emptied, so that quotas are met again and again. */
const ROUND = 20
const TOKENS = ['token 0', 'token 1'] as const
const USES = 6

interface Drawn {
  id: string
  accountId: string
  dag: string
  name: string
  maxPins: number | null
  maxStorageBytes: number | null
  isAnew: boolean
  token: string | null
}

/** Decides commits one at a time. */
class OneAtATime {
  readonly #records: Array<Pick<Drawn, 'id' | 'accountId' | 'dag' | 'name'>> = []
  readonly #uses = new Map<string, number>()

  commit({ isAnew, token, maxPins, maxStorageBytes, ...made }: Drawn): string {
    const uses = token === null ? 0 : (this.#uses.get(token) ?? 0)
    if (uses >= USES) return 'QUOTA_EXCEEDED'
    const own = this.#records.filter(({ accountId }) => accountId === made.accountId)
    const known = isAnew ? undefined : own.find(({ dag, name }) => dag === made.dag && name === made.name)
    if (known === undefined) {
      const charge = own.some(({ dag }) => dag === made.dag) ? 0 : SIZES.charge
      const isFull =
        maxStorageBytes !== null && charge > 0 && this.storedBytes(made.accountId) + charge > maxStorageBytes
      if ((maxPins !== null && own.length + 1 > maxPins) || isFull) return 'QUOTA_EXCEEDED'
      this.#records.push(made)
    }
    if (token !== null) this.#uses.set(token, uses + 1)
    // Several records may be identical, and any of them answers a repeat.
    return known === undefined ? `created ${made.id}` : `repeats ${made.dag} ${made.name}`
  }

  uses(token: string): number {
    return this.#uses.get(token) ?? 0
  }

  pins(account: string): string[] {
    return this.#records.flatMap(({ accountId, id }) => (accountId === account ? id : []))
  }

  storedBytes(account: string): number {
    const dags = this.#records.flatMap(({ accountId, dag }) => (accountId === account ? dag : []))
    return new Set(dags).size * SIZES.charge
  }
}

describe('random batches of commits', needsPostgres, () => {
  let database: Postgres
  const use = (opened: Postgres): void => {
    database = opened
  }
  openedDatabase(use, { isAsynchronous: true })

  test('have the outcomes of commits one at a time', { timeout: 60_000 + 60 * BATCHES }, async () => {
    const seed = Number(process.env.HOLDFAST_TEST_SEED ?? Date.now() % 1_000_000)
    const draws = new Draws(seed)
    const seen = new Set<string>()
    await withNode(database, 'here', async node => {
      let model = new OneAtATime()
      for (let batch = 0; batch < BATCHES; batch++) {
        if (batch % ROUND === 0) {
          model = new OneAtATime()
          await begin(database, node)
        }
        const drawn = Array.from({ length: 1 + draws.below(12) }, (_, i) => draw(draws, batch, i))
        const expected = drawn.map(one => model.commit(one))
        const outcomes = await Promise.all(drawn.map(one => committed(node, one)))
        expect(outcomes, `batch ${batch} of seed ${seed}: ${JSON.stringify(drawn)}`).toEqual(expected)
        for (const outcome of outcomes) seen.add(outcome.split(' ')[0] ?? '')
        if (batch % ROUND === ROUND - 1) await check(node, model, seed)
      }
    })
    expect([...seen].toSorted()).toEqual(['QUOTA_EXCEEDED', 'created', 'repeats'])
  })
})

async function begin(database: Postgres, node: TestNode): Promise<void> {
  for (const { id } of await database.reading.all<{ id: string }>('SELECT id FROM records'))
    await node.records.discard(id)
  await emptied(database)
  await withAccounts(database)
  for (const [i, token] of TOKENS.entries()) await insertToken(node, token, USES, ACCOUNTS[i])
}

/** A token's commits repeat only commits of their batch: an earlier record's repeat places no hold, and so overtakes. */
function draw(draws: Draws, batch: number, i: number): Drawn {
  const account = draws.below(ACCOUNTS.length)
  const token = draws.below(4) === 0 ? (TOKENS[account] ?? null) : null
  const name = `${token === null ? 'name' : `batch ${batch}`} ${draws.below(3)}`
  return {
    ...{ id: `r${batch}-${i}`, accountId: ACCOUNTS[account] ?? '', dag: `${draws.below(5)}`, name, token },
    maxPins: draws.below(2) === 0 ? null : 4 + draws.below(20),
    maxStorageBytes: draws.below(2) === 0 ? null : (1 + draws.below(5)) * SIZES.charge,
    isAnew: draws.below(10) === 0,
  }
}

async function committed({ records }: TestNode, drawn: Drawn): Promise<string> {
  const { id, accountId, dag, name, token, isAnew, ...limits } = drawn
  const intent = blockIntent(record(id, { accountId, name, dag: dagOf(dag) }), { limits, isAnew })
  try {
    const [made] = await records.commit([intent], token ?? undefined)
    return made?.created === true ? `created ${made.record.id}` : `repeats ${dag} ${made?.record.name}`
  } catch (error) {
    return error instanceof HoldfastError ? error.code : String(error)
  }
}

async function check({ records, keys, ledger }: TestNode, model: OneAtATime, seed: number): Promise<void> {
  for (const accountId of ACCOUNTS) {
    const pins = model.pins(accountId)
    const { rows } = await records.page(listOf(accountId), 0, 1_000)
    expect(rows.map(({ id }) => id).toSorted(), `seed ${seed}`).toEqual(pins.toSorted())
    const storedBytes = model.storedBytes(accountId)
    expect(await records.usage(accountId, NOW)).toEqual({ pins: pins.length, expiringPins: 0, storedBytes })
  }
  for (const token of TOKENS) expect(await keys.uses(token), `seed ${seed}`).toBe(model.uses(token))
  const held = ACCOUNTS.reduce((sum, accountId) => sum + model.pins(accountId).length, 0)
  expect(holdsIn(ledger)).toHaveLength(held)
}
