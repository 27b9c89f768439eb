import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/database/postgres.ts'
import { RevisionLog } from '../../../src/content/revision-log.ts'
import { TAKEDOWNS } from '../../../src/disk/file-names.ts'
import { nodeFileSystem } from '../../../src/disk/node-file-system.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { Takedowns } from '../../../src/gateway/policy/takedowns.ts'
import { SCOPES } from '../../../src/index.ts'
import { type Fleet, type FleetNode, withFleet, withStandingFleet } from '../../support/fleet.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { noWithholding } from '../../support/no-withholding.ts'
import { needsPostgres, query, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

const PATIENCE = { timeout: 60_000 }
const WITHOUT_NOTICES = `CREATE OR REPLACE FUNCTION begin_revision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO revisions AS known (number) VALUES (1) ON CONFLICT (one) DO UPDATE SET number = known.number + 1;
  RETURN NULL;
END $$`

describe('takedowns of several nodes', { timeout: 240_000, ...needsPostgres }, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  const upload = async ({ engine }: FleetNode, account: string, text: string): Promise<string> =>
    (await engine.pins.upload(Buffer.from(text), { account })).record.cid
  const status = async ({ url }: FleetNode, cid: string): Promise<number> => {
    const answer = await fetch(`${url}/ipfs/${cid}`)
    await answer.arrayBuffer()
    return answer.status
  }
  const list = async ({ engine }: FleetNode): Promise<Array<[cid: string, status: number, reason: string]>> => {
    const { rows } = await engine.takedowns.page({ after: null, limit: 100 })
    return rows.map(({ cid, status, reason }) => [cid, status, reason])
  }
  /** Opens the takedowns of a stopped node's directory. */
  const ofDirectory = ({ dataDir }: FleetNode): Takedowns => {
    const means = {
      fileSystem: nodeFileSystem,
      clock: systemClock,
      logger: silentLogger,
      withholding: noWithholding,
      revisions: new RevisionLog(systemClock, null),
    }
    return Takedowns.open(join(dataDir, TAKEDOWNS), means)
  }

  test('apply and are lifted on all nodes', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, account, settled, during }) => {
      const cid = await upload(a, account, 'bad')
      expect([await status(a, cid), await status(b, cid)]).toEqual([200, 200])
      await during(b.engine.takedowns.add({ cid, reason: 'complaint 1' }))
      expect(await status(b, cid)).toBe(410)
      await settled()
      expect(await status(a, cid)).toBe(410)
      await during(a.engine.takedowns.add({ cid, reason: 'order 2', status: 451 }))
      await settled()
      expect(await list(b)).toEqual([[cid, 451, 'order 2']])
      expect(await status(b, cid)).toBe(451)
      await during(a.engine.takedowns.remove({ cid }))
      expect(await status(a, cid)).toBe(200)
      await settled()
      expect(await status(b, cid)).toBe(200)
      await expect(b.engine.takedowns.remove({ cid })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      // Concurrent takedowns, each once. All files must agree in the end.
      const others = Array.from({ length: 20 }, (_, i) => ({ cid, path: `p${i}`, reason: `${i}` }))
      await during(Promise.all(others.map((one, i) => (i % 2 === 0 ? a : b).engine.takedowns.add(one))))
      const files = async () => {
        const texts = await Promise.all([a, b].map(node => readFile(join(node.dataDir, TAKEDOWNS), 'utf8')))
        const [first, second] = texts.map(text => text.split('\n').sort().join('\n'))
        return [first?.match(/ reason:/g)?.length, first === second]
      }
      await settled()
      expect(await files()).toEqual([20, true])
    })
  })

  test('apply to files in another node’s directory', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, account, settled, advance, during }) => {
      async function* tree() {
        for (const path of ['sub/one', 'sub/two']) {
          yield { kind: 'file' as const, path, content: Buffer.from(`${path} of a directory`) }
        }
      }
      const { record } = await a.engine.pins.uploadDirectory(tree(), { account })
      const { cid: file } = await a.engine.content.stat({ cid: record.cid, path: 'sub/one' })
      const { cid: sub } = await a.engine.content.stat({ cid: record.cid, path: 'sub' })
      expect([await status(a, file), await status(b, file)]).toEqual([200, 200])
      await during(a.engine.takedowns.add({ cid: sub, reason: 'x', status: 451 }))
      await settled()
      expect([await status(a, file), await status(b, file)]).toEqual([451, 451])
      await during(b.engine.takedowns.remove({ cid: sub }))
      await settled()
      expect(await status(b, file)).toBe(200)
      // A restarted node applies missed takedowns before it answers.
      await a.stop()
      await b.engine.takedowns.add({ cid: record.cid, reason: 'x' })
      await a.start()
      expect(await status(a, file)).toBe(410)
      // Other nodes notice the restart after a moment.
      await advance(5_000)
      await settled()
      expect(await status(b, file)).toBe(410)
    })
  })

  test('reach a restarted node before it serves requests', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, account, during }) => {
      const [bad, good] = [await upload(a, account, 'bad'), await upload(a, account, 'good')]
      await during(b.engine.takedowns.add({ cid: good, reason: 'by mistake' }))
      await b.stop()
      await a.engine.takedowns.add({ cid: bad, reason: 'complaint 1' })
      await a.engine.takedowns.remove({ cid: good })
      expect(
        ofDirectory(b)
          .page({ after: null, limit: 9 })
          .rows.map(({ cid }) => cid),
      ).toEqual([good])
      await b.start()
      expect([await status(b, bad), await status(b, good)]).toEqual([410, 200])
    })
  })

  test('are confirmed by all nodes before the change returns', async () => {
    await withFleet(await server.migrated(), async ({ a, b, account, database }) => {
      const cid = await upload(a, account, 'confirmed')
      // Without notifications, each node still looks for changes.
      await query(database, WITHOUT_NOTICES)
      // On a busy machine, a node may confirm too late.
      await expect.poll(async () => (await b.engine.takedowns.add({ cid, reason: 'x' })).pending, PATIENCE).toEqual([])
      expect(await status(a, cid)).toBe(410)
    })
  })

  test('name each node that does not confirm, until it has stopped', async () => {
    await withFleet(await server.migrated(), async ({ a, database }) => {
      await query(database, "INSERT INTO nodes (name, number, id, url) VALUES ('ghost', 9, 'ghost', 'http://ghost')")
      const { id } = await a.engine.accounts.create({ email: 'boss@example.org', plan: 'premium', role: 'owner' })
      const { secret } = await a.engine.keys.create(id, { name: 'all', scopes: SCOPES })
      const add = async (reason: string) => {
        const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ cid: 'bafkqaaa', reason })
        const answer = await fetch(`${a.url}/admin/v1/takedowns`, { method: 'POST', headers, body })
        const { pending } = (await answer.json()) as { pending?: unknown }
        return [answer.status, pending]
      }
      await expect.poll(() => add('it has stopped'), PATIENCE).toEqual([201, undefined])
      await query(database, "UPDATE nodes SET seen_at = clock_timestamp(), confirmed = 0 WHERE id = 'ghost'")
      expect(await add('it runs and cannot confirm')).toEqual([
        202,
        expect.arrayContaining([{ node: 'ghost', thread: null }]),
      ])
    })
  })

  test('that commit as a node joins apply before it serves requests', async () => {
    // The clocks stand still, so nodes do not look by themselves.
    const clock = new ManualClock()
    const run = async ({ a, b, account, database }: Fleet) => {
      const cid = await upload(a, account, 'just before the first heartbeat')
      await b.stop()
      await query(database, WITHOUT_NOTICES)
      await query(database, "UPDATE nodes SET confirmed = NULL WHERE id = 'b'")
      // The takedown notes whether the node has confirmed the changes before.
      await query(
        database,
        `CREATE FUNCTION take_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           INSERT INTO takedowns (cid, path, status, reason, at) VALUES ('${cid}', '', 410, (NEW.confirmed IS NOT NULL)::text, 1);
           RETURN NULL;
         END $$;
         CREATE TRIGGER nodes_join AFTER UPDATE OF seen_at ON nodes FOR EACH ROW
           WHEN (OLD.seen_at IS NULL AND NEW.seen_at IS NOT NULL) EXECUTE FUNCTION take_down()`,
      )
      await b.start()
      expect(await status(b, cid)).toBe(410)
      expect(await list(b)).toEqual([[cid, 410, 'true']])
    }
    await withFleet(await server.migrated(), run, { clock })
  })

  test('in one directory reach all nodes and survive a data loss', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, account, database, settled, during }) => {
      const [old, bad] = [await upload(a, account, 'old'), await upload(a, account, 'bad')]
      await b.stop()
      await ofDirectory(b).add({ cid: old, reason: 'before all nodes shared them', status: 451 })
      await b.start()
      expect(await status(b, old)).toBe(451)
      await settled()
      expect(await status(a, old)).toBe(451)
      await during(a.engine.takedowns.add({ cid: bad, reason: 'complaint 1' }))
      const postgres = await Postgres.open({ url: database })
      await postgres.command('DELETE FROM takedowns').finally(() => postgres.close())
      const all = [
        [old, 451, 'before all nodes shared them'],
        [bad, 410, 'complaint 1'],
      ]
      await b.stop()
      await b.start()
      await settled()
      for (const node of [a, b]) expect(await list(node)).toEqual(all)
    })
  })
})
