import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { kubo } from '../../adapters/kubo/index.ts'
import { parseConfig } from '../../src/config/config.ts'
import { checkEveryMs } from '../../src/domain/cluster-check.ts'
import { silentLogger } from '../../src/domain/logger.ts'
import { type ClusterBackend, createEngine, type Engine } from '../../src/index.ts'
import type { ClusterCheck } from '../../src/ledger/cluster-check-progress.ts'
import { ClusterChecks } from '../../src/upkeep/cluster-checks.ts'
import { ClusterSurvey } from '../../src/upkeep/cluster-survey.ts'
import { MemoryCluster } from '../clusters/memory-cluster.ts'
import { until } from '../clusters/remote-support.ts'
import { pseudoRandom } from '../support/bytes.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'

const HOUR_MS = 3_600_000
const IDLE_MS = 250
const CLUSTERS = ['near', 'far'].map(id => ({ id, label: '', region: '', country: null, gateways: [] }))

/** A node with a cluster in memory that keeps everything; `pass` advances the clock in steps. */
interface World {
  cluster: MemoryCluster
  /** Returns the CID of a new upload after it is pinned. */
  upload(): Promise<string>
  statusOf(cid: string): Promise<string>
  pass(ms: number): Promise<void>
  restart(): Promise<void>
}

function withWorld(everyHours: number, run: (world: World) => Promise<void>): Promise<void> {
  return withTempDir(async dir => {
    const cluster = new MemoryCluster()
    let asked = 0
    const status = cluster.status.bind(cluster)
    cluster.status = root => {
      asked++
      return status(root)
    }
    const clock = new ManualClock()
    const options = { dataDir: newDirectory(join(dir, 'data')), clusters: CLUSTERS, defaultCluster: 'far', clock }
    const open = () => createEngine({ ...options, backends: { far: cluster }, reconcile: { everyHours, sample: 0 } })
    let engine: Engine = await open()
    const { id: account } = await engine.accounts.create({ email: 'a@example.org', plan: 'unlimited' })
    const statusOf = async (cid: string): Promise<string> =>
      (await engine.pins.status({ account, cid }))[0]?.record.status ?? 'none'
    let uploads = 0
    try {
      await run({
        cluster,
        statusOf,
        upload: async () => {
          const { record } = await engine.pins.upload(pseudoRandom(2_000, `upload ${uploads++}`), { account })
          await until('it is pinned', async () => (await statusOf(record.cid)) === 'pinned')
          return record.cid
        },
        pass: async ms => {
          for (let left = ms; left > 0; left -= 30_000) {
            clock.advance(Math.min(left, 30_000))
            await wait(1)
          }
          // A check waits for the disk: it ends after its last request to the cluster.
          for (let before = -1; before !== asked; ) {
            before = asked
            await wait(IDLE_MS)
          }
        },
        restart: async () => {
          await engine.stop()
          engine = await open()
        },
      })
    } finally {
      await engine.stop()
    }
  })
}

describe('checks of an external cluster', () => {
  test('find a pin removed on the cluster within one interval', async () => {
    await withWorld(2, async ({ cluster, upload, statusOf, pass }) => {
      const cid = await upload()
      await pass(60_000)
      cluster.held.clear()
      await pass(2 * HOUR_MS - 60_000)
      expect([await statusOf(cid), cluster.held.size]).toEqual(['pinned', 0])
      await pass(60_000)
      await until('it is there again', () => cluster.held.size === 1)
      await until('it is pinned', async () => (await statusOf(cid)) === 'pinned')
    })
  })

  test('keep their interval on a node that restarts every 50 minutes', async () => {
    await withWorld(2, async ({ cluster, upload, pass, restart }) => {
      await upload()
      await pass(60_000)
      cluster.held.clear()
      for (let starts = 0; starts < 2; starts++) {
        await pass(50 * 60_000)
        await restart()
      }
      await pass(10 * 60_000)
      expect(cluster.held.size).toBe(0)
      await pass(15 * 60_000)
      await until('it is there again', () => cluster.held.size === 1)
    })
  })

  test('resume after a restart', async () => {
    await withWorld(2, async ({ cluster, upload, pass, restart }) => {
      for (let i = 0; i < 70; i++) await upload()
      const right: ClusterBackend['status'] = cluster.status.bind(cluster)
      const asked: string[] = []
      let isStuck = true
      cluster.status = async root => {
        asked.push(Buffer.from(root.multihash).toString('hex'))
        // The second step does not end before the restart.
        if (isStuck && asked.length > 64) await new Promise(() => undefined)
        return right(root)
      }
      await pass(60_000)
      await until('the second step began', () => asked.length > 64)
      await restart()
      const first = new Set(asked.slice(0, 64))
      asked.length = 0
      isStuck = false
      await pass(60_000)
      await until('the check ended', () => asked.length >= 6)
      expect([asked.length, asked.filter(root => first.has(root)).length]).toEqual([6, 0])
    })
  })

  test('start at once for another place, and keep all local copies meanwhile', async () => {
    const clock = new ManualClock()
    const rows = new Map<number, ClusterCheck>([[1, { place: 'old', beganAt: clock.now(), lastPlacement: null }]])
    const progress = {
      get: (id: number) => rows.get(id),
      set: async (id: number, row: ClusterCheck) => void rows.set(id, row),
    }
    let kept = 0
    const keepAll = async () => {
      kept++
      return () => {
        kept = 0
      }
    }
    const parts = { backends: new Map(), sample: 0, clock, random: Math.random, wake: () => undefined }
    const survey = (_id: number, options: ConstructorParameters<typeof ClusterSurvey>[1]) =>
      new ClusterSurvey({ ...(parts as never as ConstructorParameters<typeof ClusterSurvey>[0]) }, options)
    const backend = { id: 1, place: 'new', cluster: 'far', everyMs: 12 * HOUR_MS, keepAll }
    const checks = new ClusterChecks({ progress, survey, clock, logger: silentLogger }, [backend])
    await checks.start()
    expect(kept).toBe(1)
    clock.advance(60_000)
    await until('it is checked', () => rows.get(1)?.place === 'new' && rows.get(1)?.lastPlacement === null)
    expect(kept).toBe(0)
    await checks.stop()
  })
})

describe('the interval of checks', () => {
  test('is everyHours or half the local grace, whichever is shorter', () => {
    expect(checkEveryMs(12 * HOUR_MS, 24 * HOUR_MS)).toBe(12 * HOUR_MS)
    expect(checkEveryMs(12 * HOUR_MS, HOUR_MS)).toBe(HOUR_MS / 2)
    expect(checkEveryMs(HOUR_MS, 24 * HOUR_MS)).toBe(HOUR_MS)
    expect(checkEveryMs(12 * HOUR_MS, 0)).toBe(12 * HOUR_MS)
  })

  test('is refused if a configuration cannot keep it, by both fields', () => {
    const check = (everyHours: number, localGraceSeconds: number) => () => {
      const backend = { type: 'kubo', api: 'http://127.0.0.1:5001', localGraceSeconds }
      return parseConfig(
        { clusters: [{ id: 'cl0-global' }, { id: 'far', backend }], reconcile: { everyHours } },
        'file',
        [kubo],
      )
    }
    const path = 'file: clusters.1.backend.localGraceSeconds: '
    expect(check(0, 86_400)).toThrow(`${path}needs checks of the cluster, which reconcile.everyHours: 0 turns off`)
    expect(check(12, 119)).toThrow(`${path}must be 0 or at least 120: the cluster is checked twice in it, whatever`)
    for (const seconds of [0, 120, 86_400]) expect(check(12, seconds)).not.toThrow()
  })
})
