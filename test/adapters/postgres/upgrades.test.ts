import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { pseudoRandom } from '../../support/bytes.ts'
import { type NodeProcess, openNodeProcesses } from '../../support/fleet-processes.ts'
import { killStarts } from '../../support/killed-starts.ts'
import { needs } from '../../support/needs.ts'
import { hasSource, OLD_SOURCES, unpackSource, wayBack } from '../../support/old-source.ts'
import { hasPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'
import { ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

/** No node has this content, so its pin stays under way. */
const ABSENT = 'bafybeiepoqw32ephr5oogrpvsxma7p4zlom7z55x6377dwaqgcbtu4op6q'
/** Longer than the test, so that a deletion can be undone at its end. */
const bulk = { undoSeconds: 86_400 }
const isHere = hasPostgres && process.env.HOLDFAST_TEST_POSTGRES === undefined
type Version = '0.2.0' | '0.3.0'

afterEach(() => ServerProcess.killAll())

interface Listed {
  total: number
  uploads: Array<{ cid: string; uploadId: string; clusterId: string }>
}

async function upload(node: NodeProcess, clusterId: string, bytes: Uint8Array) {
  const form = new FormData()
  form.append('cl', clusterId)
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), 'file')
  const { status, json } = await node.call<{ cid: string }>('POST', '/api/v3/files', form)
  return { status, cid: json?.cid ?? '' }
}

async function listed(node: NodeProcess) {
  const { json } = await node.call<Listed>('GET', '/api/v3/users/me/uploads?limit=100')
  return json.uploads.map(({ cid, uploadId, clusterId }) => ({ cid, uploadId, clusterId }))
}

/** Kills a node at the steps of its first starts. */
function killAtSteps(node: NodeProcess): Promise<number> {
  return killStarts(async (...given) => {
    await node.start(...given)
    return node.server
  }, 20)
}

function optionsOf(version: Version) {
  return {
    ...needs(
      isHere && hasSource(OLD_SOURCES[version]),
      `there is no PostgreSQL of this machine, or the history does not reach back to ${version}`,
    ),
    // A kill at every step takes some 20 minutes on a busy machine.
    timeout: 3_600_000,
  }
}

interface OldFleet {
  server: TestPostgres
  a: NodeProcess
  b: NodeProcess
  nodes: NodeProcess[]
  /** Entry point of the old version. */
  main: string
}

/** Runs with two nodes of an old version on one database. */
function withOldFleet(version: Version, run: (fleet: OldFleet) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    const server = await startPostgres()
    try {
      const source = join(directory, `holdfast-${version}`)
      unpackSource(OLD_SOURCES[version], source)
      const main = join(source, 'adapters', 'cli', 'main.ts')
      const config = { network: { enabled: true }, ...(version === '0.2.0' ? {} : { bulk }) }
      const fleet = await openNodeProcesses(await server.fresh(), config, 2, main)
      try {
        await run({ ...fleet, server, main })
      } finally {
        await fleet.close()
      }
    } finally {
      await server.stop()
    }
  })
}

interface Content {
  cid: string
  bytes: Buffer
}

/** Uploads contents of several sizes, in turns to both clusters. */
async function uploadSome(node: NodeProcess): Promise<Content[]> {
  const contents: Content[] = []
  for (const [i, size] of [20, 40_000, 2_500_000, 60_000].entries()) {
    const bytes = pseudoRandom(size, `old ${size}`)
    contents.push({ cid: (await upload(node, i % 2 === 0 ? 'first' : 'second', bytes)).cid, bytes })
  }
  return contents
}

async function expectContent(node: NodeProcess, { cid, bytes }: Content): Promise<void> {
  const response = await fetch(`${node.gateway}/ipfs/${cid}`)
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
}

/** Checks upgraded nodes, and starts the old version again by the commands of the guide and a dump of the database. */
async function leadBack(
  version: Version,
  { nodes, main, restore }: Pick<OldFleet, 'nodes' | 'main'> & { restore: () => Promise<void> },
): Promise<void> {
  for (const node of nodes) {
    const { json } = await node.call('POST', '/admin/v1/reconcile', { dryRun: true })
    expect(json).toMatchObject({ findings: [] })
    await node.kill()
  }
  for (const { dataDir } of nodes) execFileSync('sh', ['-e', '-c', wayBack(version)], { cwd: dataDir })
  await restore()
  for (const node of nodes) node.main = main
  for (const node of nodes) await node.start()
}

test('a fleet of 0.2.0 survives killed upgrades and leads back', optionsOf('0.2.0'), () =>
  withOldFleet('0.2.0', async ({ server, a, b, nodes, main }) => {
    const contents = await uploadSome(a)
    expect((await a.call('POST', '/psa/pins', { cid: ABSENT })).status).toBe(202)
    const before = await listed(a)
    expect(before).toHaveLength(5)
    const expectAll = async () => {
      for (const node of nodes) {
        expect(await listed(node)).toEqual(before)
        for (const one of contents) await expectContent(node, one)
      }
    }
    // One node of 0.2.0 ends orderly, the other crashes.
    expect(await a.server.stop()).toBe(0)
    await b.kill()
    const restore = await server.snapshot()

    for (const node of nodes) node.main = undefined
    for (const node of nodes) expect(await killAtSteps(node)).toBeGreaterThan(3)
    for (const node of nodes) await node.start()
    await expectAll()
    const later = await upload(a, 'second', Buffer.from('after the upgrade'))
    expect(later.status).toBe(201)
    await leadBack('0.2.0', { nodes, main, restore })
    await expectAll()
    expect((await fetch(`${b.gateway}/ipfs/${later.cid}`)).status).toBe(404)
  }),
)

test('a node of 0.2.0 beside a later one loses nothing', optionsOf('0.2.0'), () =>
  withOldFleet('0.2.0', async ({ a, b }) => {
    const kept = [await upload(a, 'first', Buffer.from('before'))]
    await b.kill()
    b.main = undefined
    await b.start()

    // An upload through the old node may be refused, but is never lost.
    const between = await upload(a, 'first', Buffer.from('between'))
    if (between.status === 201) kept.push(between)
    // The nodes refuse requests for each other's clusters.
    expect((await upload(a, 'second', Buffer.from('to b'))).status).toBe(503)
    expect((await upload(b, 'first', Buffer.from('to a'))).status).toBe(503)
    expect(await a.server.stop()).toBe(0)
    await expect(a.start()).rejects.toThrow('written by a newer version')

    a.main = undefined
    await a.start()
    expect((await listed(a)).map(({ cid }) => cid).toSorted()).toEqual(kept.map(({ cid }) => cid).toSorted())
    for (const { cid } of kept) expect((await fetch(`${a.gateway}/ipfs/${cid}`)).status).toBe(200)
    const toA = async () => (await upload(b, 'first', Buffer.from('to a'))).status
    await expect.poll(toA).toBe(201)
  }),
)

test('a fleet of 0.3.0 survives killed upgrades of node after node', optionsOf('0.3.0'), () =>
  withOldFleet('0.3.0', async ({ server, a, b, nodes, main }) => {
    const contents = await uploadSome(a)
    const taken = await upload(b, 'second', Buffer.from('taken down'))
    const takedown = { cid: taken.cid, reason: 'complaint 17', status: 451 }
    expect((await a.call('POST', '/admin/v1/takedowns', takedown)).status).toBe(201)
    const bytes = Buffer.from('deleted by a job')
    const { cid } = await upload(a, 'first', bytes)
    expect((await a.call('POST', '/psa/pins', { cid: ABSENT })).status).toBe(202)
    const whole = await listed(a)
    const ids = whole.filter(one => one.cid === cid).map(({ uploadId }) => uploadId)
    const started = await a.call<{ job: { id: string } }>('POST', '/api/v3/jobs', { action: 'delete', ids })
    const job = `/api/v3/jobs/${started.json.job.id}`
    const stateAt = async (node: NodeProcess) =>
      (await node.call<{ job: { state: string } }>('GET', job)).json.job.state
    await expect.poll(() => stateAt(b)).toBe('done')
    const before = await listed(a)
    expect(before).toHaveLength(whole.length - 1)
    const expectAt = async (node: NodeProcess) => {
      expect(await listed(node)).toEqual(before)
      const statusOf = async (of: string) => (await fetch(`${node.gateway}/ipfs/${of}`)).status
      for (const one of contents) {
        await expect.poll(() => statusOf(one.cid), { timeout: 60_000 }).toBe(200)
        await expectContent(node, one)
      }
      expect(await statusOf(taken.cid)).toBe(451)
    }
    // One node ends orderly before the dump, the other crashes.
    expect(await a.server.stop()).toBe(0)
    await b.kill()
    const restore = await server.snapshot()
    for (const node of nodes) await node.start()

    for (const node of nodes) {
      await node.kill()
      node.main = undefined
      expect(await killAtSteps(node)).toBeGreaterThan(3)
      await node.start()
      for (const one of nodes) await expectAt(one)
    }
    expect((await a.call('POST', '/admin/v1/visibility', {})).status).toBe(200)
    const later = await upload(a, 'second', Buffer.from('after the upgrade'))
    expect(later.status).toBe(201)
    expect((await b.call('POST', `${job}/undo`)).status).toBe(202)
    await expect.poll(() => stateAt(a)).toBe('undone')
    expect((await listed(b)).map(one => one.cid).toSorted()).toEqual(
      [...whole.map(one => one.cid), later.cid].toSorted(),
    )
    await leadBack('0.3.0', { nodes, main, restore })
    for (const node of nodes) await expectAt(node)
    expect((await fetch(`${b.gateway}/ipfs/${later.cid}`)).status).toBe(404)
    expect(await stateAt(a)).toBe('done')
  }),
)
