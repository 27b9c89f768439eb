import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { KEY, type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { type Finished, runHoldfast } from '../../support/server-process.ts'
import { Receiver } from './receiver.ts'

/** Longer than the lease of a delivery whose node was killed. */
const PATIENCE = { timeout: 120_000, interval: 200 }
/** Often enough to see a state that lasts for one step. */
const AT_ONCE = { timeout: 60_000, interval: 5 }
/** Records of which another node has the content. */
const SHARED = 120
/** Records whose content is on the lost node alone. */
const ALONE = 360
const AT_A_TIME = 16

/** Copies each transition that a webhook must send. Ended deliveries are deleted later. */
const RECORDING = `
  CREATE TABLE noted (id TEXT, event TEXT, former TEXT, upload_id TEXT, status TEXT);
  CREATE FUNCTION note_delivery() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO noted VALUES (NEW.id::text, NEW.event, NEW.from_status, NEW.record::json->>'uploadId', NEW.record::json->>'status');
    RETURN NULL;
  END $$;
  CREATE TRIGGER deliveries_noted AFTER INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION note_delivery()`
const NOTED = 'SELECT id, event, former, upload_id AS "uploadId", status FROM noted ORDER BY id'

interface Noted {
  id: string
  event: string
  former: string | null
  uploadId: string
  status: string
}

describe('a node that is killed and forgotten, with its content on disk', {
  timeout: 400_000,
  ...needsPostgres,
}, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const forget = ({ url }: NodeProcess, ...flags: string[]): Promise<Finished> =>
    runHoldfast(
      ['node', 'forget', 'c', ...flags],
      { HOLDFAST_API: `${url}/api/v3`, HOLDFAST_API_KEY: KEY },
      '',
      300_000,
    )

  const upload = async (node: NodeProcess, cluster: string, names: readonly string[]): Promise<string[]> => {
    const ids: string[] = []
    for (let i = 0; i < names.length; i += AT_A_TIME) {
      const some = names.slice(i, i + AT_A_TIME).map(async name => {
        const form = new FormData()
        form.set('file', new Blob([pseudoRandom(500, name)]), name)
        const { status, json } = await node.call<{ uploadId: string }>('POST', '/api/v3/files', form, {
          'x-cluster': cluster,
        })
        expect([status, name]).toEqual([201, name])
        return json.uploadId
      })
      ids.push(...(await Promise.all(some)))
    }
    return ids
  }

  test('kills of the forgetting node lose no record and no webhook', async () => {
    const database = await server.migrated()
    await using receiver = await new Receiver().start()
    const shared = { network: { enabled: false }, webhooks: { allowPrivate: true } }
    const { a, b, nodes, close } = await openNodeProcesses(database, shared, 3)
    const [, , c] = nodes as [NodeProcess, NodeProcess, NodeProcess]
    const client = new pg.Client({ connectionString: database })
    await client.connect()
    const all = async <Row extends object>(text: string): Promise<Row[]> => (await client.query<Row>(text)).rows
    const count = async (where: string): Promise<number> =>
      (await all<{ count: number }>(`SELECT COUNT(*)::int AS count FROM ${where}`))[0]?.count ?? 0
    const told = (): Noted[] => {
      const events = receiver.events.map(({ id, event, from, record }): Noted => {
        return { id, event, former: from, uploadId: String(record.uploadId), status: String(record.status) }
      })
      return [...new Map(events.map(one => [one.id, one])).values()].toSorted((x, y) => (x.id < y.id ? -1 : 1))
    }
    try {
      await client.query(RECORDING)
      expect((await a.call('POST', '/api/v3/webhooks', { url: receiver.url })).status).toBe(201)
      const names = (kind: string, length: number) => Array.from({ length }, (_, i) => `${kind} ${i}`)
      const onBoth = await upload(c, 'third', names('shared', SHARED))
      await upload(b, 'second', names('shared', SHARED))
      const onOne = await upload(c, 'third', names('alone', ALONE))

      c.server.signal('SIGSTOP')
      // The nodes share the object.
      Object.assign(a.config.clusters?.[2] ?? {}, { node: 'a' })
      for (const node of [a, b]) {
        await node.kill()
        await node.start()
      }
      // A stopped process still has the lock of its node.
      expect(await forget(a)).toMatchObject({ code: 1, stderr: expect.stringContaining('a process is running as') })
      await c.kill()
      await expect.poll(() => count('deliveries WHERE NOT ended'), PATIENCE).toBe(0)

      const state = async () => (await all<{ state: string }>("SELECT state FROM nodes WHERE id = 'c'"))[0]?.state
      const first = forget(a)
      await expect.poll(state, AT_ONCE).toBe('forgetting')
      await a.kill()
      expect((await first).code).toBe(1)
      expect(await count("nodes WHERE id = 'c' AND state = 'forgetting'")).toBe(1)
      await a.start()
      const second = forget(a)
      await expect.poll(() => count('records WHERE lost_with IS NOT NULL'), AT_ONCE).toBeGreaterThan(ALONE / 2)
      await a.kill()
      expect((await second).code).toBe(1)
      const left = await count(
        `records JOIN holds ON holds.id = hold_id WHERE node = (SELECT name FROM nodes WHERE id = 'c')`,
      )
      expect(left).toBeGreaterThan(0)
      await a.start()
      expect(await forget(a)).toMatchObject({ code: 0, stdout: expect.stringContaining('c is forgotten') })

      const states = (ids: readonly string[]) =>
        all(`SELECT status, status_reason AS reason, COUNT(*)::int AS count FROM records
          WHERE id IN (${ids.map(id => `'${id}'`).join(', ')}) GROUP BY 1, 2`)
      await expect.poll(() => states(onBoth), PATIENCE).toEqual([{ status: 'pinned', reason: null, count: SHARED }])
      expect(await states(onOne)).toEqual([{ status: 'failed', reason: 'lost with node c', count: ALONE }])
      await expect.poll(() => count('deliveries WHERE NOT ended'), PATIENCE).toBe(0)
      expect(await count('webhooks WHERE dropped > 0')).toBe(0)
      const noted = (await all<Noted>(NOTED)).toSorted((x, y) => (x.id < y.id ? -1 : 1))
      expect(told()).toEqual(noted)
      const steps = (id: string) =>
        noted
          .filter(one => one.uploadId === id && one.event === 'pin:status')
          .map(({ former, status }) => [former, status])
      for (const id of onOne) expect(steps(id)).toEqual([['pinned', 'failed']])
      for (const id of onBoth) {
        expect(new Set(steps(id))).toEqual(
          new Set([
            ['pinned', 'pinning'],
            ['pinning', 'pinned'],
          ]),
        )
      }

      // The disk was not lost. As a new node, it gives the content back.
      await expect(c.start()).rejects.toThrow('or with --as-new to offer its content')
      c.flags = ['--as-new']
      await c.start()
      await c.kill()
      await c.start()
      await expect
        .poll(() => states(onOne), AT_ONCE)
        .not.toEqual([{ status: 'failed', reason: 'lost with node c', count: ALONE }])
      await Promise.all([a.kill(), c.kill()])
      await Promise.all([a.start(), c.start()])
      await expect.poll(() => states(onOne), PATIENCE).toEqual([{ status: 'pinned', reason: null, count: ALONE }])
      await expect.poll(() => count('deliveries WHERE NOT ended'), PATIENCE).toBe(0)
      expect(told()).toEqual((await all<Noted>(NOTED)).toSorted((x, y) => (x.id < y.id ? -1 : 1)))
      expect(await count('webhooks WHERE dropped > 0')).toBe(0)
      expect(await count('records WHERE lost_with IS NOT NULL')).toBe(0)
      expect((await b.call<{ findings: object[] }>('POST', '/admin/v1/reconcile', {})).json.findings).toEqual([])
    } finally {
      await client.end()
      await close()
    }
  })
})
