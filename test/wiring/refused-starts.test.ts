import { chmod, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { readDirectorySettings } from '../../adapters/cli/settings.ts'
import { createEngine, type EngineOptions, type HoldfastError, startRefusals } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { needsPosix } from '../support/needs.ts'
import { runHoldfast, temporaryDirectory } from '../support/server-process.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { unpack } from '../support/unpack.ts'
import { type Copy, farClusters, remove, START_CASES } from './start-cases.ts'
import { COMMAND_CASES } from './start-command-cases.ts'
import { OTHER_PLACES, START_PLACES } from './start-places.ts'
import { POSTGRES_CASES } from './start-postgres-cases.ts'

const TOP = join(import.meta.dirname, '..', '..')
const PLACE = /new HoldfastError\(\s*'(?:DATA_DIR_\w+|CONFIG_INVALID)'|\brefuse\(`?'?[`']/g

/** Returns what a refusal tells. The start creates a directory that its check only looks for. */
const toldOf = (refusal?: HoldfastError) => ({
  code: refusal?.code,
  message: refusal?.message.replace(/, (?:mkdir|scandir) '[^']*'/, ''),
})

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
  clusters: farClusters({ dataDir: far }),
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

/** Runs with a data directory that an earlier version has made. */
function withOldDirectory(version: string, run: (dataDir: string, directory: string) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    await unpack(join(TOP, 'test/storage/fixtures', `data-${version}.tar.gz`), directory)
    await run(join(directory, 'data'), directory)
  })
}

/** Runs as a user who may not read a directory. Root may read all, and is another user meanwhile. */
async function asStranger(directory: string, run: () => Promise<void>): Promise<void> {
  const isRoot = process.getuid?.() === 0
  await chmod(directory, isRoot ? 0o700 : 0)
  if (isRoot) process.seteuid?.(65_534)
  try {
    await run()
  } finally {
    if (isRoot) process.seteuid?.(0)
    await chmod(directory, 0o700)
  }
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
  test.each(Object.entries(START_CASES))('is a finding without a start: %s', (_, { prepare }) =>
    withCopy(async copy => {
      const options = { ...optionsOf(copy), ...(await prepare(copy)) }
      const before = await stateOf(copy.dir)
      const refusals = await startRefusals(options)
      expect(await stateOf(copy.dir)).toEqual(before)
      const refusal = await createEngine(options).then(
        engine => engine.stop(),
        (error: HoldfastError) => error,
      )
      expect(refusals.map(toldOf)).toContainEqual(toldOf(refusal ?? undefined))
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
    expect(found).toEqual(START_PLACES)
    const cases = [START_CASES, COMMAND_CASES, POSTGRES_CASES].flatMap(table => Object.values(table))
    const reached = new Set([...cases.flatMap(({ from }) => from), ...Object.keys(OTHER_PLACES)])
    expect(Object.keys(START_PLACES).filter(file => !reached.has(file))).toEqual([])
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

  test.each(['0.1.0', '0.2.0', '0.3.0'])('read a directory of %s, and change nothing', version =>
    withOldDirectory(version, async (dataDir, directory) => {
      const before = await stateOf(directory)
      const elsewhere = { ...farClusters({})[0], id: 'elsewhere', absent: true }
      const clusters = [...farClusters({ dataDir: join(dataDir, 'attic') }), elsewhere]
      expect(await startRefusals({ dataDir, clusters, defaultCluster: 'near' })).toEqual([])
      expect(await stateOf(directory)).toEqual(before)
    }),
  )

  test('refuse a directory of 0.3.0 as the start of this version would', () =>
    withOldDirectory('0.3.0', async dataDir => {
      await remove(join(dataDir, 'blocks'))
      await remove(join(dataDir, 'data.key'))
      const messages = (await startRefusals({ dataDir })).map(({ message }) => message)
      for (const text of ['data.key is missing', 'blocks is empty', 'which no configured cluster uses']) {
        expect(messages).toContainEqual(expect.stringContaining(text))
      }
    }))

  test('refuse the directory of another user, and say who may read it', needsPosix, () =>
    withCopy(async copy => {
      await startRefusals({ dataDir: join(copy.dir, 'new') }) // loads the modules
      await chmod(copy.dir, 0o755)
      await asStranger(copy.data, async () => {
        const message = expect.stringContaining(`${copy.data} cannot be used: EACCES`)
        expect(await startRefusals(optionsOf(copy))).toMatchObject([{ code: 'DATA_DIR_UNUSABLE', message }])
        const settings = () => readDirectorySettings({ 'data-dir': copy.data }, {})
        expect(settings).toThrow('run the command as the user of the server')
      })
    }),
  )

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

test('holdfast doctor names what refuses the start', () =>
  withCopy(async copy => {
    await START_CASES['an empty blocks/']?.prepare(copy)
    await remove(join(copy.data, 'data.key'))
    const config = join(copy.dir, 'config.json')
    const other = farClusters({ dataDir: join(copy.dir, 'other') })
    await writeFile(config, JSON.stringify({ clusters: other, defaultCluster: 'near', network: { enabled: false } }))
    const args = ['doctor', '--json', '--data-dir', copy.data, '--config', config, '--port', '0', '--gateway-port', '0']
    const { code, stdout } = await runHoldfast(args)
    expect(code).toBe(1)
    for (const text of ['blocks is empty', 'data.key is missing', 'which no configured cluster uses']) {
      expect(stdout).toContain(text)
    }
  }))
