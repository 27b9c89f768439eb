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

const SOURCE = OLD_SOURCES['0.2.0']
/** No node has this content, so its pin stays under way. */
const ABSENT = 'bafybeiepoqw32ephr5oogrpvsxma7p4zlom7z55x6377dwaqgcbtu4op6q'
const canRun = hasPostgres && process.env.HOLDFAST_TEST_POSTGRES === undefined && hasSource(SOURCE)

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

const options = {
  ...needs(canRun, 'there is no PostgreSQL of this machine, or the history does not reach back to 0.2.0'),
  // A kill at every step takes some 20 minutes on a busy machine.
  timeout: 3_600_000,
}

interface OldFleet {
  server: TestPostgres
  a: NodeProcess
  b: NodeProcess
  nodes: NodeProcess[]
  /** Entry point of 0.2.0. */
  main: string
}

/** Runs with two nodes of 0.2.0 on one database. */
function withOldFleet(run: (fleet: OldFleet) => Promise<void>): Promise<void> {
  return withTempDir(async directory => {
    const server = await startPostgres()
    try {
      const source = join(directory, 'holdfast-0.2.0')
      unpackSource(SOURCE, source)
      const main = join(source, 'adapters', 'cli', 'main.ts')
      const fleet = await openNodeProcesses(await server.fresh(), { network: { enabled: true } }, 2, main)
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

test('a fleet of 0.2.0 survives killed upgrades and leads back', options, () =>
  withOldFleet(async ({ server, a, b, nodes, main }) => {
    const contents: Array<{ cid: string; bytes: Buffer }> = []
    for (const [i, size] of [20, 40_000, 2_500_000, 60_000].entries()) {
      const bytes = pseudoRandom(size, `old ${size}`)
      contents.push({ cid: (await upload(a, i % 2 === 0 ? 'first' : 'second', bytes)).cid, bytes })
    }
    expect((await a.call('POST', '/psa/pins', { cid: ABSENT })).status).toBe(202)
    const before = await listed(a)
    expect(before).toHaveLength(5)
    const expectAll = async () => {
      for (const node of nodes) {
        expect(await listed(node)).toEqual(before)
        for (const { cid, bytes } of contents) {
          const response = await fetch(`${node.gateway}/ipfs/${cid}`)
          expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
        }
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
    for (const node of nodes) {
      const { json } = await node.call('POST', '/admin/v1/reconcile', { dryRun: true })
      expect(json).toMatchObject({ findings: [] })
      await node.kill()
    }

    for (const { dataDir } of nodes) execFileSync('sh', ['-e', '-c', wayBack('0.2.0')], { cwd: dataDir })
    await restore()
    for (const node of nodes) node.main = main
    for (const node of nodes) await node.start()
    await expectAll()
    expect((await fetch(`${b.gateway}/ipfs/${later.cid}`)).status).toBe(404)
  }),
)

test('a node of 0.2.0 beside a later one loses nothing', options, () =>
  withOldFleet(async ({ a, b }) => {
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
