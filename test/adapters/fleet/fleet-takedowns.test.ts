import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { RevisionLog } from '../../../src/content/revision-log.ts'
import { TAKEDOWNS } from '../../../src/disk/file-names.ts'
import { nodeFileSystem } from '../../../src/disk/node-file-system.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { Takedowns } from '../../../src/gateway/policy/takedowns.ts'
import { type FleetNode, withStandingFleet } from '../../support/fleet.ts'
import { noWithholding } from '../../support/no-withholding.ts'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'

describe('takedowns of several nodes', needsPostgres, () => {
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
    await withStandingFleet(await server.migrated(), async ({ a, b, account, settled }) => {
      const cid = await upload(a, account, 'bad')
      expect([await status(a, cid), await status(b, cid)]).toEqual([200, 200])
      await b.engine.takedowns.add({ cid, reason: 'complaint 1' })
      expect(await status(b, cid)).toBe(410)
      await settled()
      expect(await status(a, cid)).toBe(410)
      await a.engine.takedowns.add({ cid, reason: 'order 2', status: 451 })
      await settled()
      expect(await list(b)).toEqual([[cid, 451, 'order 2']])
      expect(await status(b, cid)).toBe(451)
      await a.engine.takedowns.remove({ cid })
      expect(await status(a, cid)).toBe(200)
      await settled()
      expect(await status(b, cid)).toBe(200)
      await expect(b.engine.takedowns.remove({ cid })).rejects.toMatchObject({ code: 'NOT_FOUND' })
      // Concurrent takedowns, each once. All files must agree in the end.
      const others = Array.from({ length: 20 }, (_, i) => ({ cid, path: `p${i}`, reason: `${i}` }))
      await Promise.all(others.map((one, i) => (i % 2 === 0 ? a : b).engine.takedowns.add(one)))
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
    await withStandingFleet(await server.migrated(), async ({ a, b, account, settled, advance }) => {
      async function* tree() {
        for (const path of ['sub/one', 'sub/two']) {
          yield { kind: 'file' as const, path, content: Buffer.from(`${path} of a directory`) }
        }
      }
      const { record } = await a.engine.pins.uploadDirectory(tree(), { account })
      const { cid: file } = await a.engine.content.stat({ cid: record.cid, path: 'sub/one' })
      const { cid: sub } = await a.engine.content.stat({ cid: record.cid, path: 'sub' })
      expect([await status(a, file), await status(b, file)]).toEqual([200, 200])
      await a.engine.takedowns.add({ cid: sub, reason: 'x', status: 451 })
      await settled()
      expect([await status(a, file), await status(b, file)]).toEqual([451, 451])
      await b.engine.takedowns.remove({ cid: sub })
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
    await withStandingFleet(await server.migrated(), async ({ a, b, account }) => {
      const [bad, good] = [await upload(a, account, 'bad'), await upload(a, account, 'good')]
      await b.engine.takedowns.add({ cid: good, reason: 'by mistake' })
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

  test('in one directory reach all nodes and survive a data loss', async () => {
    await withStandingFleet(await server.migrated(), async ({ a, b, account, database, settled }) => {
      const [old, bad] = [await upload(a, account, 'old'), await upload(a, account, 'bad')]
      await b.stop()
      await ofDirectory(b).add({ cid: old, reason: 'before all nodes shared them', status: 451 })
      await b.start()
      expect(await status(b, old)).toBe(451)
      await settled()
      expect(await status(a, old)).toBe(451)
      await a.engine.takedowns.add({ cid: bad, reason: 'complaint 1' })
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
