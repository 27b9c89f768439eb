import { copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { systemClock } from '../../src/domain/clock.ts'
import { fleetNode, TWO_CLUSTERS } from '../support/fleet.ts'
import { needs } from '../support/needs.ts'
import { hasPostgres, startPostgres } from '../support/postgres-server.ts'
import { canMount, withSmallDisk } from '../support/small-disk.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { duringBackup, WAYS, withDiskLoop } from './full-disk.ts'

/** The disk has room for the content of about a third of the rounds. */
const DISK = '160m'
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
  test('has room for others during a backup of its node', { timeout: 600_000 }, async () => {
    const server = await startPostgres()
    try {
      const fleet = { ...serverAdapters, ...TWO_CLUSTERS, database: await server.fresh() }
      await withTempDir(dir =>
        withSmallDisk(DISK, disk =>
          withDiskLoop(
            disk,
            async ({ engine, counts, round }) => {
              await mkdir(join(dir, 'b'), { mode: 0o700 })
              await copyFile(join(disk, 'data', 'data.key'), join(dir, 'b', 'data.key'))
              const other = await fleetNode('b', join(dir, 'b'), { ...fleet, clock: systemClock })
              try {
                await duringBackup(engine, join(dir, 'backup'), async () => {
                  for (let i = 0; i < ROUNDS; i++) await round(WAYS[i % WAYS.length] ?? 'job')
                })
              } finally {
                await other.close()
              }
              expect(counts.get('other upload 201'), told(counts)).toBe(ROUNDS)
              expect(counts.get('filler upload 403'), told(counts)).toBeGreaterThan(0)
              expect([...counts.keys()].filter(name => name.endsWith(' 507'))).toEqual([])
            },
            { ...fleet, node: { id: 'a', url: 'http://127.0.0.1:1' } },
          ),
        ),
      )
    } finally {
      await server.stop()
    }
  })
})

function told(counts: Map<string, number>): string {
  return JSON.stringify([...counts])
}
