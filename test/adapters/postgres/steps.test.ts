import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, type SharedPostgres, sharedPostgres } from '../../support/postgres-server.ts'
import { contentProtocols } from './content-protocols.ts'
import { FaultRuns } from './faults.ts'
import { fetchProtocols } from './fetches-protocols.ts'
import { jobProtocols } from './jobs-protocols.ts'

const protocols = [...contentProtocols, ...fetchProtocols, ...jobProtocols]
const isHeavy = (process.env.HOLDFAST_TEST_HEAVY ?? '') !== ''

/** The faults of one statement. */
const FAULTS = (['before', 'after'] as const).flatMap(when => [
  { when, what: 'stop' as const, isLong: false },
  { when, what: 'stop' as const, isLong: true },
  { when, what: 'cut' as const, isLong: false },
  { when, what: 'outage' as const, isLong: true },
])

describe('a fault at any statement loses, leaves and repeats nothing', needsPostgres, () => {
  let server: SharedPostgres
  beforeAll(async () => {
    server = await sharedPostgres()
  })
  afterAll(() => server?.stop())

  // `test.each` would truncate long names.
  for (const protocol of protocols)
    test(protocol.name, { timeout: 600_000 }, async () => {
      await FaultRuns.with(server, async runs => {
        const [stride, every] = isHeavy ? [1, 1] : [FAULTS.length, protocol.every ?? 1]
        let statements = 0
        for (let isMet = true; isMet; ) {
          for (const [i, { isLong, ...fault }] of FAULTS.entries()) {
            if ((i + statements / every) % stride !== 0) continue
            isMet = await runs.strike(protocol, { ...fault, at: statements }, isLong).catch(cause => {
              const how = `${fault.what}${isLong ? ' for long' : ''} ${fault.when}`
              throw new Error(`${how} statement ${statements} of ${protocol.name}: ${cause}`, { cause })
            })
          }
          if (isMet) statements += every
        }
        expect(statements).toBeGreaterThan(3)
      })
    })
})
