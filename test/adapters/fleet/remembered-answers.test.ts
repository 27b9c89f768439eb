import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { PinService } from '../../../src/pins/pin-service.ts'
import { Draws } from '../../support/draws.ts'
import { type Fleet, type FleetNode, withFleet } from '../../support/fleet.ts'
import { planOf } from '../../support/plans.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

/** Number of random changes. */
const CHANGES = Number(process.env.HOLDFAST_TEST_CHANGES ?? 30)
const CONTENTS = 5
/** Raw blocks that nobody has. */
const NOWHERE = 'bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuwjvbzgaaaaaaaa'
const SEED = Number(process.env.HOLDFAST_TEST_SEED ?? Date.now() % 100_000)

describe('answers of two nodes on one catalogue', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const plans = { few: planOf({ pageLimit: { default: 3, max: 3 } }) }
  const run = async (test: (world: World) => Promise<void>) => {
    const config = { network: { enabled: true, dht: 'server' as const }, pin: { waitSeconds: 1 }, plans }
    await withFleet(await server.migrated(), async fleet => await test(new World(fleet)), config)
  }

  test(`show each change of the other node at once, with seed ${SEED}`, { timeout: 240_000 }, async () => {
    await run(async world => {
      const draws = new Draws(SEED)
      for (let i = 0; i < CONTENTS; i++) await world.upload(world.a, i, `first ${i}`)
      for (let i = 0; i < CHANGES; i++) {
        const node = draws.pick([world.a, world.b])
        const change = draws.pick(CHANGES_OF)
        for (const reader of [world.a, world.b]) await world.expectFresh(reader, `before ${change.name}`)
        await change(world, node, draws)
        for (const reader of [world.b, world.a]) await world.expectFresh(reader, change.name)
      }
      expect(world.remembered).toBeGreaterThan(CHANGES)
    })
  })

  test('follow statements that no code of today sends', async () => {
    await run(async world => {
      const cid = await world.upload(world.a, 1, 'one')
      await world.upload(world.a, 2, 'other content')
      const [first] = await world.expectFresh(world.b, 'an upload')
      expect(first).toContain('"one"')
      for (const statement of [
        `UPDATE records SET name = 'two'`,
        `UPDATE records SET status = 'failed', status_reason = 'a reason'`,
        `UPDATE records SET status = 'pinned', status_reason = NULL`,
        'UPDATE accounts SET pins = pins + 1',
        `UPDATE accounts SET plan = 'few'`,
        'UPDATE roots SET announced_at = 1',
        `INSERT INTO records OVERRIDING USER VALUE
         SELECT (json_populate_record(records, '{"id":"another"}')).* FROM records LIMIT 1`,
        `DELETE FROM records WHERE id = 'another'`,
      ]) {
        const before = await world.answers(world.b, cid)
        await world.sql(statement)
        await world.expectFresh(world.b, statement)
        expect(await world.answers(world.b, cid), statement).not.toEqual(before)
      }
    })
  })

  test('are not kept while a job brings the content', async () => {
    await run(async world => {
      const cid = await world.upload(world.a, 1, 'one')
      await world.sql(`UPDATE records SET status = 'pinning'`)
      const [, , , status] = await world.answers(world.a, cid)
      expect(status).toContain('"attempts":0')
      await world.sql(`INSERT INTO placements (backend_id, codec, multihash, account_id, wanted, generation)
        SELECT backend_id, codec, multihash, '${world.account}', TRUE, 1 FROM roots`)
      await world.sql(`INSERT INTO jobs (kind, key, queue, account_id, attempts)
        SELECT 'placement', id, 'a queue of nobody', account_id, 7 FROM placements`)
      expect((await world.answers(world.a, cid))[3]).toContain('"attempts":7')
    })
  })

  test('end with the next expiry', async () => {
    await run(async world => {
      const cid = await world.upload(world.a, 1, 'passing')
      await world.sql(`UPDATE records SET expires_at = ${Date.now() + 10_000}`)
      await world.sql('UPDATE accounts SET expiring_pins = 1')
      const before = await world.answers(world.b, cid)
      expect(before[0]).toContain('passing')
      expect(await world.answers(world.b, cid)).toEqual(before)
      await expect.poll(async () => (await world.answers(world.b, cid))[0]).not.toContain('passing')
    })
  })

  test('never wait for a version, and never deadlock', async () => {
    await run(async world => {
      await world.upload(world.a, 1, 'one')
      const client = new pg.Client({ connectionString: world.database })
      await client.connect()
      try {
        // This transaction has raised the version, and stays open.
        await client.query('BEGIN')
        await client.query('SELECT raise_versions(ARRAY(SELECT id FROM accounts))')
        await world.upload(world.a, 2, 'two')
        await world.expectFresh(world.b, 'an upload beside an open transaction')
        await client.query('COMMIT')
        await world.upload(world.a, 3, 'three')
        await world.expectFresh(world.b, 'an upload')
      } finally {
        await client.end()
      }
    })
  })
})

/** Two nodes, and requests whose answers they may keep. */
class World {
  readonly a: FleetNode
  readonly b: FleetNode
  readonly account: string
  readonly database: string
  readonly #key: string
  readonly cids: string[] = []
  #asked = 0
  /** Answers from memory. */
  remembered = 0

  constructor({ a, b, account, key, database }: Fleet) {
    this.a = a
    this.b = b
    this.account = account
    this.database = database
    this.#key = key
  }

  async call(node: FleetNode, path: string, init: RequestInit = {}): Promise<string> {
    const headers = { 'x-api-key': this.#key, 'content-type': 'application/json', ...init.headers }
    const response = await fetch(`${node.url}/api/v3${path}`, { ...init, headers })
    return `${response.status} ${(await response.text()).replace(/"requestId":"[^"]*"/, '')}`
  }

  async send(node: FleetNode, method: string, path: string, body: object): Promise<unknown> {
    const answer = await this.call(node, path, { method, body: JSON.stringify(body) })
    return JSON.parse(answer.slice(4))
  }

  async upload(node: FleetNode, content: number, name: string): Promise<string> {
    const { record } = await node.engine.pins.upload([Buffer.from(`content ${content}`)], {
      account: this.account,
      name,
      cluster: clusterOf(node),
    })
    if (!this.cids.includes(record.cid)) this.cids.push(record.cid)
    return record.cid
  }

  /** Returns the ids of the records. */
  async ids(node: FleetNode): Promise<string[]> {
    const ids: string[] = []
    for await (const { uploadId } of node.engine.pins.all({ account: this.account })) ids.push(uploadId)
    return ids
  }

  /** Returns answers that may come from memory. */
  async answers(node: FleetNode, cid: string): Promise<string[]> {
    return await Promise.all(questions([cid]).map(path => this.call(node, path)))
  }

  /**
   * Compares the answers to repeated questions with those to questions that are asked once. Repeats that while a fetch
   * changes the answers.
   */
  async expectFresh(node: FleetNode, after: string): Promise<string[]> {
    const asked = questions(this.cids)
    for (;;) {
      const before = await this.#once(node, asked)
      const list = vi.spyOn(PinService.prototype, 'list')
      const answers = await Promise.all(asked.map(path => this.call(node, path)))
      this.remembered += LISTS - list.mock.calls.length
      list.mockRestore()
      const fresh = await this.#once(node, asked)
      if (!isDeepStrictEqual(before, fresh)) continue
      expect(answers, after).toEqual(fresh)
      return answers
    }
  }

  async #once(node: FleetNode, asked: readonly string[]): Promise<string[]> {
    const once = `once=${this.#asked++}`
    return await Promise.all(asked.map(path => this.call(node, `${path}${path.includes('?') ? '&' : '?'}${once}`)))
  }

  async sql(text: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.database })
    await client.connect()
    await client.query(text)
    await client.end()
  }
}

const LISTS = 3
function questions(cids: readonly string[]): string[] {
  const lists = ['?limit=50', '', '?status=queued,pinning,failed'].map(query => `/users/me/uploads${query}`)
  return [...lists, ...cids.flatMap(cid => [`/status/${cid}`, `/allocations/${cid}`])]
}

const CHANGES_OF: readonly [Change, ...Change[]] = [
  async function upload(world, node, draws) {
    await world.upload(node, draws.below(CONTENTS), `name ${draws.below(1_000)}`)
  },
  async function uploadsAtOnce(world, node, draws) {
    const names = Array.from({ length: 5 }, () => `one of many ${draws.below(1_000)}`)
    await Promise.all(names.map(name => world.upload(node, draws.below(CONTENTS), name)))
  },
  async function rename(world, node, draws) {
    const id = some(await world.ids(node), draws)
    if (id !== undefined) {
      await node.engine.pins.rename({ account: world.account, uploadId: id, name: `renamed ${draws.below(1_000)}` })
    }
  },
  async function setMeta(world, node, draws) {
    const id = some(await world.ids(node), draws)
    const meta = { n: String(draws.below(1_000)) }
    if (id !== undefined) await node.engine.pins.rename({ account: world.account, uploadId: id, meta })
  },
  async function remove(world, node, draws) {
    const cid = some(world.cids, draws)
    if (cid !== undefined) await world.call(node, `/files/remove/${cid}`, { method: 'DELETE' })
  },
  async function discard(world, node, draws) {
    const id = some(await world.ids(node), draws)
    if (id !== undefined) await node.engine.pins.discard({ account: world.account, uploadId: id })
  },
  async function pinElsewhere(world, node) {
    await node.engine.pins.pin(NOWHERE, { account: world.account, cluster: clusterOf(node), respondAsync: true })
    if (!world.cids.includes(NOWHERE)) world.cids.push(NOWHERE)
  },
  async function uploadForAWhile(world, node, draws) {
    const timelock = new Date(Date.now() + 3_600_000)
    const content = [Buffer.from(`content ${draws.below(CONTENTS)}`)]
    const cluster = clusterOf(node)
    await node.engine.pins.upload(content, { account: world.account, cluster, timelock, name: `n${draws.below(9)}` })
  },
  async function removeManyAndUndo(world, node, draws) {
    const ids = (await world.ids(node)).slice(0, 1 + draws.below(4))
    if (ids.length === 0) return
    const { job } = (await world.send(node, 'POST', '/jobs', { action: 'delete', ids })) as { job: { id: string } }
    await ended(world, node, job.id, 'done')
    await world.expectFresh(node === world.a ? world.b : world.a, 'a bulk removal')
    if (draws.below(2) === 0) return
    await world.send(node, 'POST', `/jobs/${job.id}/undo`, {})
    await ended(world, node, job.id, 'undone')
  },
  async function editMany(world, node, draws) {
    const ids = (await world.ids(node)).slice(0, 1 + draws.below(4))
    if (ids.length === 0) return
    const edit =
      draws.below(2) === 0 ? { action: 'rename', rename: { prefix: 'x' } } : { action: 'timelock', timelock: 'never' }
    const { job } = (await world.send(node, 'POST', '/jobs/edits', { ...edit, ids })) as { job: { id: string } }
    await ended(world, node, job.id, 'done')
  },
  async function changePlan(world, node, draws) {
    await node.engine.accounts.setPlan(world.account, draws.pick(['few', 'unlimited']))
  },
  async function reconcile(world, node) {
    await world.sql('UPDATE accounts SET pins = pins + 1')
    await node.engine.reconcile()
  },
]
type Change = (world: World, node: FleetNode, draws: Draws) => Promise<void>

function clusterOf({ id }: FleetNode): string {
  return id === 'a' ? 'first' : 'second'
}

function some(values: readonly string[], draws: Draws): string | undefined {
  return values[draws.below(Math.max(1, values.length))]
}

async function ended(world: World, node: FleetNode, id: string, state: string): Promise<void> {
  await expect.poll(() => world.call(node, `/jobs/${id}`)).toContain(`"state":"${state}"`)
}
