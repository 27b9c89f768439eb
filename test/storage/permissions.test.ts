import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEngine, type EngineOptions, openAccounts } from '../../src/index.ts'
import { callApi } from '../support/api-call.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { needsPosix } from '../support/needs.ts'
import { withTempDir } from '../support/temp-dir.ts'

const CLUSTER = { label: '', region: '', country: null, gateways: [] }
/** Contents of a data directory after every store has been used. */
const ENTRIES = ['blocks', 'data.key', 'datastore', 'holdfast.db', 'import', 'secrets', 'tmp']

/** Runs with another umask of the process. */
async function withUmask<T>(umask: number, run: () => Promise<T>): Promise<T> {
  const before = process.umask(umask)
  try {
    return await run()
  } finally {
    process.umask(before)
  }
}

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o777).toString(8)
}

/** Returns the mode of each file and directory below a directory. */
async function modesIn(dir: string, recursive = false): Promise<Record<string, string>> {
  const names = (await readdir(dir, { recursive })).sort()
  return Object.fromEntries(await Promise.all(names.map(async name => [name, await modeOf(join(dir, name))])))
}

/** Writes to every store, and reads the modes while they are open. */
async function use(options: EngineOptions, look: () => Promise<void>): Promise<void> {
  const config = { passwordCost: 1_024, signup: { enabled: true }, network: { enabled: true } }
  const engine = await createEngine({ ...config, ...options })
  try {
    const { id: account } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    for (const cluster of ['near', 'far']) {
      // Threads write chunks, also small ones of a cluster with its own directory; this thread writes nodes.
      for (const size of [100_000, 3_000_000])
        await engine.pins.upload(pseudoRandom(size, cluster), { account, cluster })
    }
    const person = { email: 'b@example.org', password: 'correct horse battery', name: 'B' }
    const headers = { 'content-type': 'application/json', body: JSON.stringify(person) }
    for (const path of ['/auth/signup', '/auth/login']) {
      expect((await callApi(engine, 'POST', path, headers)).status).toBeLessThan(300)
    }
    await look()
  } finally {
    await engine.stop()
  }
}

/** Returns a logger that records warnings. */
function warnings() {
  const told: string[] = []
  const ignore = (): void => undefined
  return {
    told,
    logger: { debug: ignore, info: ignore, warn: (_: object, text: string) => told.push(text), error: ignore },
  }
}

describe('permissions', needsPosix, () => {
  test.each([['000'], ['022'], ['077']])('a new data directory excludes other users, with the umask %s', umask =>
    withTempDir(async dir => {
      const [dataDir, far] = [join(dir, 'data'), join(dir, 'far')]
      const clusters = [
        { ...CLUSTER, id: 'near' },
        { ...CLUSTER, id: 'far', dataDir: far },
      ]
      const { told, logger } = warnings()
      const look = async (): Promise<void> => {
        const modes = await modesIn(dataDir)
        expect(Object.keys(modes)).toEqual(expect.arrayContaining([...ENTRIES, 'holdfast.db-wal', 'holdfast.db-shm']))
        for (const [name, mode] of Object.entries(modes)) {
          expect([name, mode]).toEqual([name, (await stat(join(dataDir, name))).isDirectory() ? '700' : '600'])
        }
        expect(await modeOf(dataDir)).toBe('700')
        expect(await modeOf(far)).toBe('700')
        for (const path of [dataDir, far]) {
          const blocks = Object.entries(await modesIn(join(path, 'blocks'), true))
          const files = blocks.filter(([name]) => name.includes('/'))
          expect(files.length).toBeGreaterThan(0)
          expect(blocks.filter(([name, mode]) => mode !== (name.includes('/') ? '600' : '700'))).toEqual([])
        }
        expect(await modesIn(far)).toMatchObject({ blocks: '700', datastore: '700', tmp: '700' })
      }
      await withUmask(Number.parseInt(umask, 8), () => use({ dataDir, clusters, defaultCluster: 'near', logger }, look))
      // No warning about the directory; the one about sign-up does not matter.
      expect(told.filter(line => !line.includes('sign up'))).toEqual([])
    }),
  )

  test('accounts created before the first start expose nothing', () =>
    withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      await withUmask(0, async () => {
        const handle = openAccounts({ dataDir })
        await handle.accounts.create({ email: 'a@example.org', plan: 'free' })
        expect(new Set(Object.values(await modesIn(dataDir)))).toEqual(new Set(['600']))
        handle.close()
      })
      expect(await modeOf(dataDir)).toBe('700')
    }))

  test.each<[string, number, RegExp | null]>([
    ['that others can read is left so, with a warning that tells what to do', 0o755, /"chmod 700 .*importRoots/],
    ['that a group can write to, too', 0o770, /"chmod 700 .*importRoots/],
    ['that others may only pass through to its import folder is left alone', 0o711, null],
  ])('a directory %s', (_, mode, warning) =>
    withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      await mkdir(dataDir)
      await (await createEngine({ dataDir })).stop()
      await writeFile(join(dataDir, 'holdfast.db.schema-1'), 'a copy')
      await chmod(dataDir, mode)
      for (const name of await readdir(dataDir)) await chmod(join(dataDir, name), 0o755)
      const { told, logger } = warnings()
      await (await createEngine({ dataDir, logger })).stop()
      expect(await modeOf(dataDir)).toBe(mode.toString(8))
      const { import: imports, ...stores } = await modesIn(dataDir)
      expect(imports).toBe('755')
      expect(Object.values(stores).filter(found => !/^[67]00$/.test(found))).toEqual([])
      expect(told).toEqual(warning === null ? [] : [expect.stringMatching(warning)])
    }),
  )
})
