import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { CID } from 'multiformats/cid'
import type { Bench, Scale, Target } from './bench.ts'
import { clientsFor } from './clients/clients.ts'
import { type Contest, runContest, type Subject } from './contest.ts'
import { cidOfFile, fill } from './services/filled.ts'
import { holdfast } from './services/holdfast.ts'
import { call } from './services/service.ts'
import { Sizes } from './subjects/service-subject.ts'

const MANY: Readonly<Record<Scale, number>> = { full: 100_000, quick: 100_000, tiny: 200 }
const BYTES = 4096
const CONNECTIONS = 16
const SECONDS = 2
const RAW = 0x55
/** Value of `ends` for a hold without an end. */
const FOR_EVER = Number.MAX_SAFE_INTEGER

/** Value of `way` for a root of an account. */
const PRIVATE_WAY = 1_000

/** Query strings of the two kinds of reads. */
const READS = { block: '?format=raw', file: '' } as const
type Read = keyof typeof READS

/** Data directories of the subjects. Each has one file; `change` adds the rest while no server runs. */
const DIRECTORIES: ReadonlyArray<{ name: string; change(dir: string, cid: string, count: number): Promise<void> }> = [
  { name: 'no-takedowns', change: async () => undefined },
  { name: 'many-takedowns', change: (dir, _, count) => writeTakedowns(dir, count) },
  { name: 'many-roots', change: async (dir, cid, count) => addRoots(join(dir, 'holdfast.db'), cid, count) },
  { name: 'many-private', change: async (dir, cid, count) => addRoots(join(dir, 'holdfast.db'), cid, count, true) },
]

/** Writes the list of takedowns of a data directory. */
export function writeTakedowns(dir: string, count: number): Promise<void> {
  const lines = Array.from({ length: count }, () => {
    const cid = cidOfFile(randomBytes(16))
    return `/ipfs/${cid} gateway_status:410 at:2026-01-01T00:00:00.000Z reason:bench\n`
  })
  return writeFile(join(dir, 'takedowns.deny'), `version: 1\nname: takedowns\n---\n${lines.join('')}`)
}

/**
 * Inserts complete roots that need the block, directly into the database. Through the server that would take an hour.
 */
function addRoots(file: string, cid: string, count: number, arePrivate = false): void {
  const [owner, way] = arePrivate ? ['1000000 + i', PRIVATE_WAY] : ['0', 0]
  const db = new BetterSqlite3(file)
  try {
    db.pragma('synchronous = OFF')
    const { multihash } = CID.parse(cid)
    const id = db.prepare('SELECT id FROM blocks WHERE multihash = ?').pluck().get(multihash.bytes)
    db.transaction(() => {
      db.exec(`
        CREATE TEMP TABLE start AS SELECT MAX(id) AS root FROM roots;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
        INSERT INTO roots (id, backend_id, state, codec, multihash, owner, created_at, blocks)
        SELECT start.root + i, 0, 'complete', ${RAW}, CAST(X'1220' || randomblob(32) AS BLOB), ${owner}, 0, 1 FROM n, start;
        INSERT INTO holds (id, root_id, ends)
        SELECT 'bench ' || roots.id, roots.id, ${FOR_EVER} FROM roots, start WHERE roots.id > start.root;
        INSERT INTO root_blocks (root_id, block_id, way)
        SELECT roots.id, ${id}, ${way} FROM roots, start WHERE roots.id > start.root;
        DROP TABLE start;
      `)
    })()
  } finally {
    db.close()
  }
}

function contest(read: Read, scale: Scale): Contest<Sizes<number>> {
  const clients = clientsFor(scale)
  const subjects = DIRECTORIES.map(({ name, change }): Subject<Sizes<number>> => {
    return {
      name,
      async start(dir) {
        const before = await holdfast.start(dir)
        const [cid = ''] = await fill(before, 1, BYTES)
        await before.stop()
        await change(dir, cid, MANY[scale])
        const service = await holdfast.start(dir)
        await service.startReading?.()
        const source = service.read?.(cid + READS[read])
        if (source === undefined) throw new Error('it has no gateway')
        await call(source)
        return {
          pids: service.pids,
          run: ({ sizes: count }) =>
            clients.hammer({ calls: [source], connections: CONNECTIONS, seconds: SECONDS, count }),
          stop: () => service.stop(),
        }
      },
    }
  })
  return {
    ...{ metric: read, unit: '/s', better: 'higher', subjects },
    createWork: () => new Sizes(32),
    value: (_, seconds, done) => done / seconds,
  }
}

const NAMES = Object.keys(READS) as Read[]

export const takedowns: Bench = {
  name: 'takedowns',
  minutes: 3,
  describe: scale => {
    const many = MANY[scale].toLocaleString('en')
    return `${BYTES / 1024} KiB by the gateway, as a block and as a file. Without takedowns, with ${many}, and where ${many} public or private roots need the block`
  },
  targets: NAMES.flatMap(metric =>
    ['many-takedowns', 'many-roots', 'many-private'].map(
      (subject): Target => ({ subject, metric, against: 'no-takedowns', atLeast: 0.97 }),
    ),
  ),
  async run(options) {
    const measurements = []
    for (const read of NAMES) {
      const dir = join(options.dir, read)
      await mkdir(dir)
      measurements.push(...(await runContest(contest(read, options.scale), { ...options, dir })))
    }
    return measurements
  },
}
