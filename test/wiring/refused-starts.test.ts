import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { createEngine, type EngineOptions, type HoldfastError, startRefusals } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { runHoldfast, temporaryDirectory } from '../support/server-process.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'

const TOP = join(import.meta.dirname, '..', '..')
const PLAIN = { label: '', region: '', country: null, gateways: [] }

/** Paths of a node with content in two directories, of which each case gets a copy. */
interface Copy {
  dir: string
  data: string
  far: string
}

interface Case {
  /** Files whose refusal the case reaches. */
  from: readonly string[]
  /** Breaks the copy. Returns changed options. */
  prepare(copy: Copy): Promise<Partial<EngineOptions> | undefined> | Partial<EngineOptions> | undefined
}

const clusters = (far: Record<string, unknown>) => [
  { ...PLAIN, id: 'near' },
  { ...PLAIN, id: 'far', ...far },
]
const write = (path: string, text = 'x') => writeFile(path, text).then(() => undefined)
const remove = (path: string) => rm(path, { recursive: true }).then(() => undefined)
const sql = (data: string, text: string): undefined => {
  withDatabase(data, db => db.prepare(text).run())
  return undefined
}

/** Writes the version of the schema into the header, where SQLite keeps it. */
async function writeVersion(data: string, version: number): Promise<undefined> {
  const path = join(data, 'holdfast.db')
  const bytes = await readFile(path)
  bytes.writeUInt32BE(version, 60)
  await writeFile(path, bytes)
  return undefined
}

const DIRECTORY = 'src/disk/data-directory.ts'
const CLUSTERS = 'src/ledger/cluster-directories.ts'
const KEY = 'src/storage/data-key.ts'

const CASES: Record<string, Case> = {
  'an unfinished restore': {
    from: [DIRECTORY],
    prepare: ({ data }) => rename(join(data, 'holdfast.db'), join(data, 'holdfast.db.restored')).then(() => undefined),
  },
  'content without a database': { from: [DIRECTORY], prepare: ({ data }) => remove(join(data, 'holdfast.db')) },
  'a datastore that is a file': {
    from: [DIRECTORY],
    prepare: async ({ data }) => {
      await remove(join(data, 'datastore'))
      return write(join(data, 'datastore'))
    },
  },
  'a database of a newer version': {
    from: ['src/storage/prepared-database.ts'],
    prepare: ({ data }) => writeVersion(data, 9_999),
  },
  'a file that is no database': {
    from: ['src/storage/database.ts'],
    prepare: ({ data }) => write(join(data, 'holdfast.db'), 'x'.repeat(5_000)),
  },
  'a missing data.key': { from: [KEY], prepare: ({ data }) => remove(join(data, 'data.key')) },
  'a damaged data.key': { from: [KEY], prepare: ({ data }) => write(join(data, 'data.key')) },
  'the data.key of another node': { from: [KEY], prepare: ({ data }) => write(join(data, 'data.key'), 'A'.repeat(43)) },
  'damaged secrets': {
    from: ['src/access/sessions/secrets-file.ts'],
    prepare: ({ data }) => write(join(data, 'secrets')),
  },
  'takedowns that cannot be read': {
    from: ['src/gateway/policy/takedown-file.ts'],
    prepare: ({ data }) => mkdir(join(data, 'takedowns.deny')).then(() => undefined),
  },
  'an empty blocks/': {
    from: ['src/content/expected-blocks.ts'],
    prepare: async ({ data }) => {
      await remove(join(data, 'blocks'))
      await mkdir(join(data, 'blocks'))
      return undefined
    },
  },
  'an empty blocks/ of a cluster': {
    from: ['src/content/expected-blocks.ts'],
    prepare: ({ far }) => remove(join(far, 'blocks')),
  },
  'an import root with the data directory': {
    from: ['src/content/import-roots.ts'],
    prepare: ({ dir }) => ({ importRoots: [dir] }),
  },
  'a directory of a cluster that is not mounted': {
    from: [CLUSTERS],
    prepare: async ({ far }) => {
      await remove(far)
      await mkdir(far)
      return undefined
    },
  },
  'another directory of a cluster': {
    from: ['src/ledger/unused-backends.ts'],
    prepare: ({ dir }) => ({ clusters: clusters({ dataDir: join(dir, 'other') }) }),
  },
  'the data directory as that of a cluster': {
    from: [CLUSTERS],
    prepare: ({ data }) => ({ clusters: clusters({ dataDir: data }) }),
  },
  'a damaged identity of a cluster': { from: [CLUSTERS], prepare: ({ far }) => write(join(far, 'identity')) },
  'the identity of another node': {
    from: [CLUSTERS],
    prepare: ({ far }) => write(join(far, 'identity'), '0e984725-c51c-4bf4-9960-e1c80e27aba0'),
  },
  'a directory of a cluster with content of somebody else': {
    from: [CLUSTERS],
    prepare: async ({ dir, far }) => {
      const other = join(dir, 'other')
      await mkdir(join(other, 'tmp'), { recursive: true })
      await write(join(other, 'tmp', 'mine'))
      return { clusters: [...clusters({ dataDir: far }), { ...PLAIN, id: 'third', dataDir: other }] }
    },
  },
  'alsoIn without content': {
    from: [CLUSTERS],
    prepare: ({ dir, far }) => ({ clusters: clusters({ dataDir: far, alsoIn: [join(dir, 'other')] }) }),
  },
  'one directory twice, by a copy': {
    from: [CLUSTERS],
    prepare: async ({ dir, far }) => {
      await cp(far, join(dir, 'copy'), { recursive: true })
      return { clusters: [...clusters({ dataDir: far }), { ...PLAIN, id: 'third', dataDir: join(dir, 'copy') }] }
    },
  },
  'a catalogue in PostgreSQL without its URL': {
    from: ['src/wiring/open-shared-catalogue.ts'],
    prepare: ({ data }) => sql(data, `INSERT INTO catalogue_node (name) VALUES ('node-1')`),
  },
  'accounts of its own beside a catalogue in PostgreSQL': {
    from: ['src/wiring/open-shared-catalogue.ts'],
    prepare: () => ({ database: 'postgres://127.0.0.1:1/none' }),
  },
  'a data directory without a name': { from: ['src/wiring/setup.ts'], prepare: () => ({ dataDir: '' }) },
  'an unknown option': { from: ['src/wiring/setup.ts'], prepare: () => ({ colour: 'red' }) as Partial<EngineOptions> },
}

/**
 * Number of places in each file that make an error of a refused start. A new place changes the number: give it a case,
 * or a reason in OTHERS.
 */
const PLACES: Readonly<Record<string, number>> = {
  'adapters/cli/descriptors.ts': 1,
  'adapters/cli/owner-node.ts': 1,
  'adapters/cli/saved-login.ts': 2,
  'adapters/cli/serve.ts': 1,
  'adapters/cli/settings.ts': 2,
  'adapters/oidc/index.ts': 1,
  'adapters/opentelemetry/index.ts': 1,
  'adapters/postgres/join-fleet.ts': 6,
  'adapters/postgres/migrate.ts': 2,
  'adapters/postgres/node-claim.ts': 1,
  'adapters/postgres/postgres.ts': 1,
  'adapters/postgres/shared-database.ts': 1,
  'adapters/remote/secrets.ts': 2,
  'src/access/sessions/secrets-file.ts': 1,
  'src/backup/restore.ts': 1,
  'src/catalogue/catalogue-adapter.ts': 1,
  'src/clusters/remote-clusters.ts': 2,
  'src/config/config.ts': 1,
  'src/content/expected-blocks.ts': 1,
  'src/content/import-roots.ts': 1,
  'src/disk/data-directory.ts': 5,
  'src/domain/sealing.ts': 1,
  'src/gateway/policy/denylist.ts': 1,
  'src/gateway/policy/takedown-file.ts': 1,
  'src/gateway/source/root-opener.ts': 1,
  'src/ledger/cluster-directories.ts': 12,
  'src/ledger/unused-backends.ts': 1,
  'src/network/network-node.ts': 1,
  'src/network/network-settings.ts': 1,
  'src/storage/data-key.ts': 2,
  'src/storage/database.ts': 1,
  'src/storage/prepared-database.ts': 2,
  'src/storage/rehearse-upgrade.ts': 2,
  'src/storage/schema-version.ts': 2,
  'src/wiring/connect-catalogue.ts': 2,
  'src/wiring/move-catalogue.ts': 1,
  'src/wiring/open-accounts.ts': 2,
  'src/wiring/open-shared-catalogue.ts': 2,
  'src/wiring/open-sign-in.ts': 1,
  'src/wiring/replace-data-key.ts': 1,
  'src/wiring/setup.ts': 3,
  'src/wiring/stores.ts': 1,
}

/** Reasons for which no case reaches a file. */
const OTHERS: Readonly<Record<string, string>> = {
  'adapters/cli/descriptors.ts': 'the limit of this process: doctor calls the same function',
  'adapters/cli/owner-node.ts': 'another command, no start',
  'adapters/cli/saved-login.ts': 'another command, no start',
  'adapters/cli/serve.ts': 'HOLDFAST_BOOTSTRAP_KEY, which needs the accounts',
  'adapters/cli/settings.ts': 'the configuration, which doctor reads before all else',
  'adapters/oidc/index.ts': 'a missing package: doctor opens the provider',
  'adapters/opentelemetry/index.ts': 'a missing package',
  'adapters/postgres/join-fleet.ts': 'the state of PostgreSQL, which only the start may claim; doctor connects to it',
  'adapters/postgres/migrate.ts': 'the state of PostgreSQL, which only the start may claim; doctor connects to it',
  'adapters/postgres/node-claim.ts': 'the state of PostgreSQL, which only the start may claim; doctor connects to it',
  'adapters/postgres/postgres.ts': 'a missing package: doctor loads it',
  'adapters/postgres/shared-database.ts':
    'the state of PostgreSQL, which only the start may claim; doctor connects to it',
  'adapters/remote/secrets.ts': 'secrets of remote clusters: doctor opens them',
  'src/backup/restore.ts': 'another command, no start',
  'src/catalogue/catalogue-adapter.ts': 'the configuration, which doctor reads before all else',
  'src/clusters/remote-clusters.ts': 'backends of a program',
  'src/config/config.ts': 'the configuration, which doctor reads before all else',
  'src/domain/sealing.ts': 'a stored secret, which its user opens',
  'src/gateway/policy/denylist.ts': 'a denylist, which the gateway reads',
  'src/gateway/source/root-opener.ts': 'the configuration, which doctor reads before all else',
  'src/network/network-node.ts': 'ports of the network',
  'src/network/network-settings.ts': 'the configuration, which doctor reads before all else',
  'src/storage/rehearse-upgrade.ts': 'another command, no start',
  'src/storage/schema-version.ts': 'a finding of the data directory',
  'src/wiring/connect-catalogue.ts': 'the state of PostgreSQL, which only the start may claim; doctor connects to it',
  'src/wiring/move-catalogue.ts': 'another command, no start',
  'src/wiring/open-accounts.ts': 'another command, no start',
  'src/wiring/open-sign-in.ts': 'a missing adapter of a program',
  'src/wiring/replace-data-key.ts': 'another command, no start',
  'src/wiring/stores.ts': 'one directory of two remote clusters',
}

const PLACE = /new HoldfastError\(\s*'(?:DATA_DIR_\w+|CONFIG_INVALID)'|\brefuse\(`?'?[`']/g

/** Returns the size and time of each file. SQLite makes and removes files, which changes the time of their directory. */
async function stateOf(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true })
  const lines = names.map(async name => {
    const found = await stat(join(directory, name))
    return `${name} ${found.mode} ${found.isDirectory() ? '' : `${found.size} ${found.mtimeMs}`}`
  })
  return (await Promise.all(lines)).toSorted()
}

const optionsOf = ({ data, far }: Copy): EngineOptions => ({
  ...serverAdapters,
  dataDir: data,
  clusters: clusters({ dataDir: far }),
  defaultCluster: 'near',
})

let origin: ReturnType<typeof temporaryDirectory>

/** Runs with a copy of the node. */
async function withCopy(run: (copy: Copy) => Promise<void>): Promise<void> {
  await withTempDir(async dir => {
    for (const name of ['data', 'far']) await cp(join(origin.path, name), join(dir, name), { recursive: true })
    const copy = { dir, data: join(dir, 'data'), far: join(dir, 'far') }
    withDatabase(copy.data, db => db.prepare('UPDATE backends SET data_dir = ?').run(copy.far))
    await run(copy)
  })
}

beforeAll(async () => {
  origin = temporaryDirectory()
  const { path: dir } = origin
  const engine = await createEngine(optionsOf({ dir, data: join(dir, 'data'), far: join(dir, 'far') }))
  const account = (await engine.accounts.ensureOwner()).account.id
  for (const cluster of ['near', 'far']) {
    await engine.pins.upload(pseudoRandom(50_000, cluster), { account, cluster })
  }
  await engine.stop()
})
afterAll(() => origin.remove())

describe('a refused start', () => {
  test.each(Object.entries(CASES))('is a finding without a start: %s', (_, { prepare }) =>
    withCopy(async copy => {
      const options = { ...optionsOf(copy), ...(await prepare(copy)) }
      const before = await stateOf(copy.dir)
      const refusals = await startRefusals(options)
      expect(await stateOf(copy.dir)).toEqual(before)
      const refusal = await createEngine(options).then(
        engine => engine.stop(),
        (error: HoldfastError) => error,
      )
      expect(refusals.map(({ code, message }) => ({ code, message }))).toContainEqual({
        code: refusal?.code,
        message: refusal?.message,
      })
    }),
  )

  test('has a case for each place that refuses', async () => {
    const found: Record<string, number> = {}
    for (const root of ['src', 'adapters']) {
      for (const name of await readdir(join(TOP, root), { recursive: true })) {
        if (!name.endsWith('.ts') || name.startsWith('console/page')) continue
        const text = await readFile(join(TOP, root, name), 'utf8')
        const count = text.match(PLACE)?.length ?? 0
        if (count > 0) found[`${root}/${name}`] = count
      }
    }
    expect(found).toEqual(PLACES)
    const reached = new Set([...Object.values(CASES).flatMap(({ from }) => from), ...Object.keys(OTHERS)])
    expect(Object.keys(PLACES).filter(file => !reached.has(file))).toEqual([])
  })
})

describe('the checks of a start', () => {
  test('find nothing for a sound node, and change nothing', () =>
    withCopy(async copy => {
      const before = await stateOf(copy.dir)
      expect(await startRefusals(optionsOf(copy))).toEqual([])
      expect(await startRefusals({ dataDir: join(copy.dir, 'new') })).toEqual([])
      expect(await stateOf(copy.dir)).toEqual(before)
    }))

  test('run beside an engine, and read its newest writes', () =>
    withCopy(async copy => {
      const engine = await createEngine(optionsOf(copy))
      try {
        const account = (await engine.accounts.ensureOwner()).account.id
        expect(await startRefusals(optionsOf(copy))).toEqual([])
        await engine.pins.upload(pseudoRandom(50_000, 'beside'), { account, cluster: 'far' })
        await rm(copy.far, { recursive: true })
        const [refusal] = await startRefusals(optionsOf(copy))
        expect(refusal?.message).toContain('lacks its file identity')
      } finally {
        await engine.stop()
      }
    }))
})

test('holdfast doctor names what refuses the start', { timeout: 60_000 }, () =>
  withCopy(async copy => {
    await CASES['an empty blocks/']?.prepare(copy)
    await remove(join(copy.data, 'data.key'))
    const config = join(copy.dir, 'config.json')
    const other = clusters({ dataDir: join(copy.dir, 'other') })
    await writeFile(config, JSON.stringify({ clusters: other, defaultCluster: 'near', network: { enabled: false } }))
    const args = ['doctor', '--json', '--data-dir', copy.data, '--config', config, '--port', '0', '--gateway-port', '0']
    const { code, stdout } = await runHoldfast(args)
    expect(code).toBe(1)
    for (const text of ['blocks is empty', 'data.key is missing', 'which no configured cluster uses']) {
      expect(stdout).toContain(text)
    }
  }),
)
