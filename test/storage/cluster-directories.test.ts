import { cp, mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { ClusterDefinition } from '../../src/domain/cluster.ts'
import { createEngine, type EngineOptions } from '../../src/index.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { withDatabase } from '../support/store-inspection.ts'
import { filesIn, withTempDir } from '../support/temp-dir.ts'

const CONTENT = pseudoRandom(100_000, 'content of a cluster')

function clustersAt(dirs: Record<string, string>): ClusterDefinition[] {
  const cluster = { label: '', region: '', country: null, gateways: [] }
  return Object.entries(dirs).map(([id, dataDir]) => ({ ...cluster, id, dataDir }))
}

function optionsOf(dir: string, dirs: Record<string, string>): EngineOptions {
  const clusters = clustersAt(dirs)
  return { dataDir: join(dir, 'data'), clusters, defaultCluster: clusters[0]?.id ?? '' }
}

/** Starts, uploads one content to each cluster, stops. Returns its CID. */
async function fill(options: EngineOptions): Promise<string> {
  const engine = await createEngine(options)
  try {
    const account = (await engine.accounts.create({ email: 'far@example.org', plan: 'unlimited' })).id
    for (const { id: cluster } of options.clusters ?? []) await engine.pins.upload(CONTENT, { account, cluster })
    return (await engine.pins.upload(CONTENT, { account })).record.cid
  } finally {
    await engine.stop()
  }
}

/** Starts, and reads the content from the first cluster. */
async function expectWhole(options: EngineOptions, cid: string): Promise<void> {
  const engine = await createEngine(options)
  try {
    const backend = await engine.clusters.backendOf(options.defaultCluster ?? '')
    const read = (await backend.reader?.read(CID.parse(cid))) ?? new Uint8Array()
    expect(Buffer.compare(read, CONTENT)).toBe(0)
    expect((await engine.verify()).damaged).toEqual([])
  } finally {
    await engine.stop()
  }
}

function refusal(...parts: string[]) {
  return { code: 'DATA_DIR_UNUSABLE', message: expect.stringMatching(new RegExp(parts.join('.*'))) }
}

// Two engines in one process wait for five seconds.
describe.concurrent('the data directory of a cluster', () => {
  test('has an identity file beside its blocks', async () => {
    await withTempDir(async dir => {
      const far = join(dir, 'far')
      const options = optionsOf(dir, { far })
      const cid = await fill(options)
      const identity = await readFile(join(far, 'identity'), 'utf8')
      expect(identity).toMatch(/^[0-9a-f-]{36}\n$/)
      expect((await filesIn(join(far, 'blocks'))).every(file => file.endsWith('.data'))).toBe(true)
      await expectWhole(options, cid)
      expect(await readFile(join(far, 'identity'), 'utf8')).toBe(identity)
    })
  })

  test.each<[string, (far: string) => Promise<unknown>, string]>([
    ['is not mounted', far => rename(far, `${far}-elsewhere`), 'Is it mounted'],
    ['is empty', far => rename(far, `${far}-elsewhere`).then(() => mkdir(far)), 'Is it mounted'],
    ['is a file', far => rename(far, `${far}-elsewhere`).then(() => writeFile(far, '')), 'Is it mounted'],
    ['lost its file', far => unlink(join(far, 'identity')), 'Is it mounted'],
    ['has a damaged file', far => writeFile(join(far, 'identity'), ''), 'damaged'],
    ['is of another Holdfast', far => writeFile(join(far, 'identity'), crypto.randomUUID()), 'belongs to another'],
  ])('that %s refuses the start and stays unchanged', async (_, change, reason) => {
    await withTempDir(async dir => {
      const far = join(dir, 'far')
      const options = optionsOf(dir, { far })
      const cid = await fill(options)
      const identity = await readFile(join(far, 'identity'))
      await change(far)
      const before = await readdir(far).catch(() => null)
      await expect(createEngine(options)).rejects.toMatchObject(refusal('far.dataDir', far, reason))
      expect(await readdir(far).catch(() => null)).toEqual(before)
      const elsewhere = `${far}-elsewhere`
      if ((await readdir(dir)).includes('far-elsewhere')) {
        await rm(far, { recursive: true, force: true })
        await rename(elsewhere, far)
      }
      await writeFile(join(far, 'identity'), identity)
      await expectWhole(options, cid)
    })
  })

  test('may be lost while it has no content', async () => {
    await withTempDir(async dir => {
      const options = optionsOf(dir, { far: join(dir, 'far') })
      await (await createEngine(options)).stop()
      await rm(join(dir, 'far'), { recursive: true })
      await expectWhole(options, await fill(options))
    })
  })

  test('may move, if its configuration follows', async () => {
    await withTempDir(async dir => {
      const cid = await fill(optionsOf(dir, { far: join(dir, 'far') }))
      await rename(join(dir, 'far'), join(dir, 'moved'))
      await expectWhole(optionsOf(dir, { far: join(dir, 'moved') }), cid)
    })
  })

  test('is shared by clusters that name it by different paths', async () => {
    await withTempDir(async dir => {
      await mkdir(join(dir, 'far'))
      await symlink(join(dir, 'far'), join(dir, 'link'))
      const options = optionsOf(dir, { far: join(dir, 'far'), near: join(dir, 'link') })
      const cid = await fill(options)
      const backends = withDatabase(join(dir, 'data'), db => db.prepare('SELECT id FROM backends').all())
      expect(backends).toHaveLength(1)
      const engine = await createEngine(options)
      const account = (await engine.accounts.list())[0]?.id ?? ''
      await engine.pins.remove({ account, cid, cluster: 'near' })
      await engine.collect({ graceSeconds: 0 })
      await engine.stop()
      await expectWhole(options, cid)
      await expectWhole(optionsOf(dir, { far: join(dir, 'link') }), cid)
    })
  })

  test('is refused in the place of another, and as a copy', async () => {
    await withTempDir(async dir => {
      const [one, two, aside] = ['one', 'two', 'aside'].map(name => join(dir, name)) as [string, string, string]
      const options = optionsOf(dir, { one, two })
      const cid = await fill(options)
      await rename(one, aside)
      await rename(two, one)
      await rename(aside, two)
      await expect(createEngine(options)).rejects.toMatchObject(refusal('one.dataDir', `was at ${two}`))
      await rename(two, aside)
      await rename(one, two)
      await rename(aside, one)
      await expectWhole(options, cid)
      await cp(one, join(dir, 'copy'), { recursive: true })
      const copied = optionsOf(dir, { one, copy: join(dir, 'copy') })
      await expect(createEngine(copied)).rejects.toMatchObject(refusal('copy.dataDir'))
    })
  })

  test('gets a missing identity file unless it is unmounted', async () => {
    await withTempDir(async dir => {
      const far = join(dir, 'far')
      const options = optionsOf(dir, { far })
      const cid = await fill(options)
      withDatabase(join(dir, 'data'), db => db.prepare('UPDATE backends SET identity = NULL').run())
      await unlink(join(far, 'identity'))
      await rename(far, `${far}-elsewhere`)
      await expect(createEngine(options)).rejects.toMatchObject(refusal('far.dataDir', far, 'Is it mounted'))
      await rename(`${far}-elsewhere`, far)
      await expectWhole(options, cid)
      expect(await readFile(join(far, 'identity'), 'utf8')).toMatch(/^[0-9a-f-]{36}\n$/)
    })
  })

  test('cannot be the data directory of the engine under another path', async () => {
    await withTempDir(async dir => {
      await mkdir(join(dir, 'data'))
      await symlink(join(dir, 'data'), join(dir, 'link'))
      const options = optionsOf(dir, { own: join(dir, 'link') })
      await expect(createEngine(options)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    })
  })
})

describe.concurrent('two engines in one process', () => {
  test('cannot own one directory, nor that of a cluster, by another path', async () => {
    await withTempDir(async dir => {
      const options = optionsOf(dir, { far: join(dir, 'far') })
      const engine = await createEngine(options)
      try {
        await symlink(join(dir, 'data'), join(dir, 'link'))
        const again = [{ dataDir: join(dir, 'link') }, { dataDir: join(dir, 'far') }]
        const refusals = again.map(other =>
          expect(createEngine(other)).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' }),
        )
        await Promise.all(refusals)
      } finally {
        await engine.stop()
      }
      await (await createEngine({ dataDir: join(dir, 'link') })).stop()
    })
  })
})
