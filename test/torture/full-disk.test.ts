import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { type Logger, silentLogger } from '../../src/domain/logger.ts'
import { fleetNode, TWO_CLUSTERS } from '../support/fleet.ts'
import { needs } from '../support/needs.ts'
import { hasPostgres, startPostgres } from '../support/postgres-server.ts'
import { canMount, withSmallDisk } from '../support/small-disk.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { type DiskLoop, duringBackup, WAYS, withDiskLoop } from './full-disk.ts'

/** The disk has room for the content of about a third of the rounds. */
const DISK = '160m'
const PROBLEM = 'restored'
const ROUNDS = 50

describe('a disk that one account fills in every way', needs(canMount, 'this user may not mount a small disk'), () => {
  test('has room for others', { timeout: 600_000 }, async () => {
    await withSmallDisk(DISK, disk =>
      withDiskLoop(disk, async ({ counts, round }) => {
        for (let i = 0; i < ROUNDS; i++) await round(WAYS[i % WAYS.length] ?? 'job')
        expect(counts.get('other upload 201'), told(counts)).toBe(ROUNDS)
        expect([...counts.keys()].filter(name => name.endsWith(' 507'))).toEqual([])
      }),
    )
  })

  test('has room for others during a backup', { timeout: 600_000 }, async () => {
    await withTempDir(dir =>
      withSmallDisk(DISK, disk =>
        withDiskLoop(disk, async ({ engine, counts, round }) => {
          await duringBackup(engine, join(dir, 'backup'), async () => {
            for (let i = 0; i < ROUNDS; i++) await round(WAYS[i % WAYS.length] ?? 'job')
          })
          expect(counts.get('other upload 201'), told(counts)).toBe(ROUNDS)
          expect(counts.get('filler upload 403'), told(counts)).toBeGreaterThan(0)
          expect([...counts.keys()].filter(name => name.endsWith(' 507'))).toEqual([])
          await round('removal')
          expect(counts.get('filler removal 200'), told(counts)).toBeGreaterThan(0)
        }),
      ),
    )
  })
})

const here = needs(canMount && hasPostgres, 'this user may not mount a small disk, or PostgreSQL is not installed')

describe('a disk of one of two nodes', here, () => {
  test('has room for others during a backup of its node', { timeout: 600_000 }, () =>
    withNodeLoop(async ({ dir, engine, counts, round }) => {
      await duringBackup(engine, join(dir, 'backup'), async () => {
        for (let i = 0; i < ROUNDS; i++) await round(WAYS[i % WAYS.length] ?? 'job')
      })
      expect(counts.get('other upload 201'), told(counts)).toBe(ROUNDS)
      expect(counts.get('filler upload 403'), told(counts)).toBeGreaterThan(0)
      expect([...counts.keys()].filter(name => name.endsWith(' 507'))).toEqual([])
    }),
  )

  test('has room for others while a set-back of the database stops deletion', { timeout: 600_000 }, async () => {
    const noticed = Promise.withResolvers<void>()
    const error = (details: object): void => {
      if ('problem' in details && details.problem === PROBLEM) noticed.resolve()
    }
    await withNodeLoop(
      async ({ database, counts, round }) => {
        await noteSetBack(database)
        await noticed.promise
        // An upload that has not expired would leave no room for the next one.
        for (let i = 0; i < ROUNDS; i++) await round(i % 2 === 0 ? 'job' : 'removal')
        expect(counts.get('other upload 201'), told(counts)).toBe(ROUNDS)
        expect(counts.get('filler upload 403'), told(counts)).toBeGreaterThan(0)
        expect([...counts.keys()].filter(name => name.endsWith(' 507'))).toEqual([])
      },
      { logger: { ...silentLogger, error } },
    )
  })
})

/** Notes a set-back, as another node does. No node can finish its offers, which would end the stop of deletion. */
async function noteSetBack(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(`
    CREATE FUNCTION unfinished() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not yet'; END $$;
    CREATE TRIGGER unfinished BEFORE UPDATE OF offered ON nodes FOR EACH ROW EXECUTE FUNCTION unfinished();
    INSERT INTO set_backs (id, problem, noticed_by) VALUES ('the set-back', '${PROBLEM}', 'b');
    UPDATE nodes SET offer_place = NULL`)
  await client.end()
}

/** Runs with a node on a small disk, and with another node on a large one. */
async function withNodeLoop(
  run: (loop: DiskLoop & { dir: string; database: string }) => Promise<void>,
  more: { logger?: Logger } = {},
): Promise<void> {
  const server = await startPostgres()
  try {
    const database = await server.fresh()
    const fleet = { ...serverAdapters, ...TWO_CLUSTERS, database }
    await withTempDir(dir =>
      withSmallDisk(DISK, disk =>
        withDiskLoop(
          disk,
          async loop => {
            await mkdir(join(dir, 'b'), { mode: 0o700 })
            await copyFile(join(disk, 'data', 'data.key'), join(dir, 'b', 'data.key'))
            const other = await fleetNode('b', join(dir, 'b'), { ...fleet, clock: systemClock })
            try {
              await run({ ...loop, dir, database })
            } finally {
              await other.close()
            }
          },
          { ...fleet, ...more, node: { id: 'a', url: 'http://127.0.0.1:1' } },
        ),
      ),
    )
  } finally {
    await server.stop()
  }
}

function told(counts: Map<string, number>): string {
  return JSON.stringify([...counts])
}
