import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineOptions } from '../../src/index.ts'
import { withDatabase } from '../support/store-inspection.ts'

const PLAIN = { label: '', region: '', country: null, gateways: [] }

/** Paths of a node with content in two directories, of which each case gets a copy. */
export interface Copy {
  dir: string
  data: string
  far: string
}

export interface StartCase {
  /** Files whose refusal the case reaches. */
  from: readonly string[]
  /** Breaks the copy. Returns changed options. */
  prepare(copy: Copy): Promise<Partial<EngineOptions> | undefined> | Partial<EngineOptions> | undefined
}

export const farClusters = (far: Record<string, unknown>) => [
  { ...PLAIN, id: 'near' },
  { ...PLAIN, id: 'far', ...far },
]
const write = (path: string, text = 'x') => writeFile(path, text).then(() => undefined)
export const remove = (path: string) => rm(path, { recursive: true }).then(() => undefined)
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
const NO_DATABASE = 'postgres://127.0.0.1:1/none'

const kept = (id: string, fields: Record<string, unknown>) => ({
  ...PLAIN,
  id,
  backend: { type: 'kubo', url: 'http://127.0.0.1:1', ...fields },
})

export const START_CASES: Readonly<Record<string, StartCase>> = {
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
    prepare: ({ dir }) => ({ clusters: farClusters({ dataDir: join(dir, 'other') }) }),
  },
  'the data directory as that of a cluster': {
    from: [CLUSTERS],
    prepare: ({ data }) => ({ clusters: farClusters({ dataDir: data }) }),
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
      return { clusters: [...farClusters({ dataDir: far }), { ...PLAIN, id: 'third', dataDir: other }] }
    },
  },
  'alsoIn without content': {
    from: [CLUSTERS],
    prepare: ({ dir, far }) => ({ clusters: farClusters({ dataDir: far, alsoIn: [join(dir, 'other')] }) }),
  },
  'one directory twice, by a copy': {
    from: [CLUSTERS],
    prepare: async ({ dir, far }) => {
      await cp(far, join(dir, 'copy'), { recursive: true })
      return { clusters: [...farClusters({ dataDir: far }), { ...PLAIN, id: 'third', dataDir: join(dir, 'copy') }] }
    },
  },
  'a catalogue in PostgreSQL without its URL': {
    from: ['src/wiring/used-catalogue.ts'],
    prepare: ({ data }) => sql(data, `INSERT INTO catalogue_node (name) VALUES ('node-1')`),
  },
  'accounts of its own beside a catalogue in PostgreSQL': {
    from: ['src/wiring/used-catalogue.ts'],
    prepare: () => ({ database: 'postgres://127.0.0.1:1/none' }),
  },
  'a data directory without a name': { from: ['src/wiring/setup.ts'], prepare: () => ({ dataDir: '' }) },
  'an option of a wrong type': {
    from: ['src/wiring/own-options.ts'],
    prepare: () => ({ singleUser: 'false' }) as unknown as Partial<EngineOptions>,
  },
  'an unknown option': { from: ['src/wiring/setup.ts'], prepare: () => ({ colour: 'red' }) as Partial<EngineOptions> },
  'a configuration with a wrong field': { from: ['src/config/config.ts'], prepare: () => ({ publicUrl: 'nowhere' }) },
  'a database without an adapter': {
    from: ['src/catalogue/catalogue-adapter.ts'],
    prepare: () =>
      ({ database: 'postgres://127.0.0.1:1/none', catalogue: undefined }) as unknown as Partial<EngineOptions>,
  },
  'a database that does not answer': {
    from: [],
    prepare: async ({ dir }) => ({ dataDir: join(dir, 'new'), clusters: farClusters({}), database: NO_DATABASE }),
  },
  'a backend of no cluster': {
    from: ['src/clusters/remote-clusters.ts'],
    prepare: () => ({ backends: { none: {} } }) as unknown as Partial<EngineOptions>,
  },
  'the secret of a remote cluster': {
    from: ['adapters/remote/secrets.ts'],
    prepare: ({ far }) => ({
      clusters: [...farClusters({ dataDir: far }), kept('third', { authFile: '/nowhere/auth' })],
    }),
  },
  'a wrong secret of a remote cluster': {
    from: ['adapters/remote/secrets.ts'],
    prepare: ({ far }) => ({
      clusters: [...farClusters({ dataDir: far }), kept('third', { authEnv: 'AUTH' })],
      environment: { AUTH: 'digest:x' },
    }),
  },
  'one directory of two remote clusters': {
    from: ['src/wiring/stores.ts'],
    prepare: ({ dir, far }) => {
      const dataDir = join(dir, 'cache')
      const first = { ...kept('third', {}), dataDir }
      const second = { ...kept('fourth', { url: 'http://127.0.0.1:2' }), dataDir }
      return { clusters: [...farClusters({ dataDir: far }), first, second] }
    },
  },
  'a provider without its adapter': {
    from: ['src/wiring/open-sign-in.ts'],
    prepare: ({ dir }) =>
      ({
        publicUrl: 'https://pins.example.org',
        oidc: { issuer: 'https://id.example.org', clientId: 'holdfast', clientSecretFile: join(dir, 'secret') },
        signIn: undefined,
      }) as unknown as Partial<EngineOptions>,
  },
  'an address of the network that is none': {
    from: ['src/network/network-settings.ts'],
    prepare: () => ({ network: { enabled: true, listen: ['4001'] } }),
  },
  'a gateway of the network without the network': {
    from: ['src/wiring/setup.ts'],
    prepare: () => ({ gateway: { mode: 'open' }, network: { enabled: false } }),
  },
  'a data directory below a file': {
    from: [DIRECTORY],
    prepare: ({ dir, data }) => ({
      dataDir: join(data, 'holdfast.db', 'data'),
      clusters: farClusters({ dataDir: join(dir, 'far') }),
    }),
  },
  'a directory of a cluster below a file': {
    from: [CLUSTERS],
    prepare: ({ data, far }) => ({
      clusters: [
        ...farClusters({ dataDir: far }),
        { ...PLAIN, id: 'third', dataDir: join(data, 'holdfast.db', 'far') },
      ],
    }),
  },
  'an identity of a cluster that is a directory': {
    from: [CLUSTERS],
    prepare: async ({ far }) => {
      await remove(join(far, 'identity'))
      await mkdir(join(far, 'identity'))
      return undefined
    },
  },
  'a directory of a cluster without identity and blocks': {
    from: [CLUSTERS],
    prepare: async ({ data, far }) => {
      await remove(join(far, 'identity'))
      await remove(join(far, 'blocks'))
      return sql(data, 'UPDATE backends SET identity = NULL')
    },
  },
  'two directories in the place of each other': {
    from: [CLUSTERS],
    prepare: async ({ dir, data, far }) => {
      const other = join(dir, 'other')
      await cp(far, other, { recursive: true })
      sql(data, `INSERT INTO backends (data_dir, identity) VALUES ('${other}', '0e984725-c51c-4bf4-9960-e1c80e27aba0')`)
      return { clusters: farClusters({ dataDir: other }) }
    },
  },
}
