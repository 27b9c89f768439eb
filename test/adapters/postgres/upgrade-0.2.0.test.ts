import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { Postgres } from '../../../adapters/postgres/postgres.ts'
import { pseudoRandom } from '../../support/bytes.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { needs } from '../../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource, wayBack } from '../../support/old-source.ts'
import { hasPostgres, startPostgres } from '../../support/postgres-server.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const SOURCE = OLD_SOURCES['0.2.0']
/** No node has this content, so its pin stays under way. */
const ABSENT = 'bafybeiepoqw32ephr5oogrpvsxma7p4zlom7z55x6377dwaqgcbtu4op6q'
const KEY = 'upgrade-0123456789abcdef0123456789abcdef'
const canRun = hasPostgres && process.env.HOLDFAST_TEST_POSTGRES === undefined && hasSource(SOURCE)

afterEach(() => ServerProcess.killAll())

/** Kills a starting server as soon as the condition holds. Returns false if the server has started before. */
async function killWhen(start: () => Promise<ServerProcess>, isReached: () => Promise<boolean>): Promise<boolean> {
  const starting = start().catch(() => undefined)
  const started = starting.then(() => true)
  let reached = await isReached()
  while (!reached && !(await Promise.race([started, new Promise<false>(resolve => setTimeout(resolve, 1, false))]))) {
    reached = await isReached()
  }
  await ServerProcess.killAll()
  await starting
  return reached
}

test(
  'a catalogue of 0.2.0 survives killed upgrades and leads back',
  {
    ...needs(canRun, 'there is no PostgreSQL of this machine, or the history does not reach back to 0.2.0'),
    timeout: 240_000,
  },
  () =>
    withTempDir(async directory => {
      const server = await startPostgres()
      const url = await server.fresh()
      try {
        const dataDir = join(directory, 'data')
        const config = join(directory, 'config.json')
        writeFileSync(config, JSON.stringify({ database: url, network: { enabled: true } }))
        const flags = ['--config', config]
        const source = join(directory, 'holdfast-0.2.0')
        unpackSource(SOURCE, source)
        const main = join(source, 'adapters', 'cli', 'main.ts')
        const startOld = () => ServerProcess.start(dataDir, flags, {}, 60_000, [], undefined, main)
        const startNew = () => ServerProcess.start(dataDir, flags, {}, 60_000)

        const old = await startOld()
        const [, key = ''] = /^API key of the owner, .*: (\S+)$/m.exec(old.stdout) ?? []
        const clientOf = ({ url: base }: ServerProcess) => new HoldfastClient({ base, key })
        const contents = [20, 40_000, 2_500_000].map(size => pseudoRandom(size, `old ${size}`))
        const cids: string[] = []
        for (const bytes of contents) cids.push((await clientOf(old).files.upload(bytes)).cid)
        const pin = {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ cid: ABSENT }),
        }
        expect((await fetch(`${old.url}/psa/pins`, pin)).status).toBe(202)
        const listed = async (server: ServerProcess) =>
          (await clientOf(server).pins.page(1)).uploads.map(({ cid, uploadId }) => ({ cid, uploadId }))
        const before = await listed(old)
        expect(before).toHaveLength(4)
        expect(await old.stop()).toBe(0)
        const restore = await server.snapshot()

        const copy = join(dataDir, 'holdfast.db.schema-19')
        expect(await killWhen(startNew, async () => existsSync(copy))).toBe(true)
        const database = await Postgres.open({ url })
        const reader = await database.connection()
        // The lock stops the change of the database halfway.
        await reader.query(
          'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE fetches IN ACCESS SHARE MODE',
        )
        const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
        expect(await killWhen(startNew, async () => (await database.reading.first(waiting)) !== undefined)).toBe(true)
        await reader.query('ROLLBACK')
        reader.release()
        await database.close()

        const upgraded = await startNew()
        expect(await listed(upgraded)).toEqual(before)
        for (const [i, cid] of cids.entries()) {
          const response = await fetch(`${upgraded.url}/ipfs/${cid}`)
          expect(Buffer.from(await response.arrayBuffer()).equals(contents[i] ?? Buffer.alloc(0))).toBe(true)
        }
        const { cid: later } = await clientOf(upgraded).files.upload('after the upgrade')
        await ServerProcess.killAll()

        execFileSync('sh', ['-e', '-c', wayBack()], { cwd: dataDir })
        await restore()
        const back = await startOld()
        expect(await listed(back)).toEqual(before)
        expect((await fetch(`${back.url}/ipfs/${later}`)).status).toBe(404)
        expect(await back.stop()).toBe(0)
      } finally {
        await ServerProcess.killAll()
        await server.stop()
      }
    }),
)

test(
  'a node of 0.2.0 beside a later one loses nothing',
  {
    ...needs(canRun, 'there is no PostgreSQL of this machine, or the history does not reach back to 0.2.0'),
    timeout: 240_000,
  },
  () =>
    withTempDir(async directory => {
      const server = await startPostgres()
      try {
        const database = await server.fresh()
        const source = join(directory, 'holdfast-0.2.0')
        unpackSource(SOURCE, source)
        const cluster = { label: '', region: '', country: null, gateways: [] }
        const clusters = ['a', 'b'].map(node => ({ ...cluster, id: `of-${node}`, node }))
        const ports = { a: await fixedPort(1), b: await fixedPort(1) }
        const start = (id: 'a' | 'b', main?: string) => {
          const config = join(directory, `${id}.json`)
          const node = { id, url: `http://127.0.0.1:${ports[id]}` }
          writeFileSync(
            config,
            JSON.stringify({ database, network: { enabled: false }, clusters, defaultCluster: 'of-a', node }),
          )
          const flags = ['--config', config, '--port', `${ports[id]}`]
          const env = { HOLDFAST_BOOTSTRAP_KEY: KEY }
          return ServerProcess.start(join(directory, id), flags, env, 60_000, [], undefined, main)
        }
        const oldMain = join(source, 'adapters', 'cli', 'main.ts')
        const old = await start('a', oldMain)
        mkdirSync(join(directory, 'b'), { mode: 0o700 })
        copyFileSync(join(directory, 'a', 'data.key'), join(directory, 'b', 'data.key'))
        const clientOf = ({ url }: ServerProcess) => new HoldfastClient({ base: url, key: KEY })
        const kept = [await clientOf(old).files.upload('before', { cluster: 'of-a' })]
        const later = await start('b')

        // An upload through the old node may be refused, but is never lost.
        const between = await clientOf(old)
          .files.upload('between', { cluster: 'of-a' })
          .catch((error: unknown) => String(error))
        if (typeof between === 'object') kept.push(between)
        // The nodes refuse requests for each other's clusters.
        const refused = { code: 'UNAVAILABLE' }
        await expect(clientOf(old).files.upload('to b', { cluster: 'of-b' })).rejects.toMatchObject(refused)
        await expect(clientOf(later).files.upload('to a', { cluster: 'of-a' })).rejects.toMatchObject(refused)
        expect(await old.stop()).toBe(0)
        await expect(start('a', oldMain)).rejects.toThrow('written by a newer version')

        const upgraded = await start('a')
        const { uploads } = await clientOf(upgraded).pins.page(1)
        expect(uploads.map(({ cid }) => cid).toSorted()).toEqual(kept.map(({ cid }) => cid).toSorted())
        for (const { cid } of kept) expect((await fetch(`${upgraded.url}/ipfs/${cid}`)).status).toBe(200)
        await expect
          .poll(() => clientOf(later).files.upload('to a', { cluster: 'of-a' }), { timeout: 10_000 })
          .toBeTruthy()
      } finally {
        await ServerProcess.killAll()
        await server.stop()
      }
    }),
)
