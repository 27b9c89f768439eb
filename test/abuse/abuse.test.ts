import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, startPostgres, type TestPostgres } from '../support/postgres-server.ts'
import { AbusedServer } from './abused-server.ts'
import { type AbuseRow, GROWTH_MIB, LONGEST_STALL_MS } from './row.ts'

const ROWS = join(import.meta.dirname, 'rows')
const files = readdirSync(ROWS).filter(file => file.endsWith('.ts'))
const rows = await Promise.all(
  files.map(async file => ((await import(join(ROWS, file))) as { rows: readonly AbuseRow[] }).rows),
)
const MiB = 1024 ** 2

let server: AbusedServer

/** Requests `/health` repeatedly until `ended` returns true. Returns the number of answers and the peak of the memory. */
async function askHealth(ended: () => boolean): Promise<{ answered: number; peak: number }> {
  let answered = 0
  let peak = 0
  do {
    expect((await server.ask('/health')).status).toBe(200)
    answered++
    peak = Math.max(peak, server.watched.memory() ?? 0)
    await new Promise(resolve => setTimeout(resolve, 25))
  } while (!ended())
  return { answered, peak }
}

describe('one request, the catalogue in SQLite', () => abuses(async () => null))
describe('one request, the catalogue in PostgreSQL', needsPostgres, () => abuses(startPostgres))

function abuses(open: () => Promise<TestPostgres | null>): void {
  let postgres: TestPostgres | null = null
  const start = async (): Promise<void> => {
    server = await AbusedServer.start({ database: await postgres?.fresh() })
  }
  beforeAll(async () => {
    postgres = await open()
    await start()
  })
  afterAll(async () => {
    await server.stop()
    await postgres?.stop()
  })

  test.each(rows.flat())(
    'leaves the event loop to others: $name',
    async row => {
      const { longestStallMs = LONGEST_STALL_MS, growthMiB = GROWTH_MIB, peakMiB = Infinity, answers } = row
      try {
        server.nextClient()
        await row.setUp?.(server)
        await server.watched.reset()
        const before = server.watched.memory() ?? 0
        let ended = false
        const request = row.request(server).finally(() => {
          ended = true
        })
        const [status, { answered, peak }] = await Promise.all([request, askHealth(() => ended)])
        expect(answered).toBeGreaterThan(0)
        expect(answers, 'the status of the answer').toContain(status)
        expect(server.watched.longestStall(), 'the loop stood still, in milliseconds').toBeLessThan(longestStallMs)
        const grown = ((server.watched.memory() ?? before) - before) / MiB
        expect(grown, 'the memory grew, in MiB').toBeLessThan(growthMiB)
        expect((peak - before) / MiB, 'the memory grew meanwhile, in MiB').toBeLessThan(peakMiB)
      } catch (error) {
        // The failed request may still block this server, so the next row gets a new one.
        await server.stop()
        await start()
        throw error
      }
    },
    60_000,
  )
}
