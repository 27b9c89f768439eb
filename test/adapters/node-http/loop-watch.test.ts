import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { currentWork, renameWork, underName } from '../../../src/concurrency/work.ts'
import { withEngine } from '../../support/test-engine.ts'

const CHILD = join(import.meta.dirname, '../../support/stalling-child.ts')

describe('the watch of the event loop', () => {
  test('logs and counts stalls with their cause, in microtasks too', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [CHILD], { timeout: 85_000 })
    expect(stderr).toBe('')
    const works = ['GET /files/:in-microtasks', 'GET /files/:at-once']
    const logged = stdout.split('\n').flatMap(line => (line.startsWith('{') ? [JSON.parse(line)] : []))
    for (const work of works) {
      const stall = logged.find(line => line.work === work)
      expect(stall, `${work} in ${stdout}`).toMatchObject({ message: 'event loop stalled' })
      expect(stall.ms).toBeGreaterThanOrEqual(200)
      expect(stdout).toContain(`holdfast_loop_stalls_total{work="${work}"} 1\n`)
    }
    // The timer of the metric itself is late by about the length of the stall.
    const [, longest] = /^nodejs_eventloop_delay_max_seconds (\S+)$/m.exec(stdout) ?? []
    expect(Number(longest)).toBeGreaterThan(1)
  })

  test('background jobs have names of their own', async () => {
    await withEngine(async ({ engine, account, clock }) => {
      const seen: Record<string, string | null> = {}
      const told = new Promise<void>(resolve => {
        engine.events.on('pin:removed', ({ reason }) => {
          seen[reason] = currentWork()
        })
        engine.events.on('collected', () => {
          seen.collected = currentWork()
          resolve()
        })
      })
      await underName('POST /files', () =>
        engine.pins.upload(Buffer.from('content'), { account, timelock: new Date(clock.now() + 1_000).toISOString() }),
      )
      const moving = setInterval(() => underName('GET /health', () => clock.advance(60_000)), 5)
      await told.finally(() => clearInterval(moving))
      expect(seen).toEqual({ expired: 'expiry', collected: 'collection' })
    })
  })

  test('running work and the work that it starts share a name', async () => {
    expect(currentWork()).toBe(null)
    renameWork('nobody')
    const both = await Promise.all(
      ['a', 'b'].map(name =>
        underName(name, async () => {
          await new Promise(resolve => setImmediate(resolve))
          const before = currentWork()
          renameWork(`${name} renamed`)
          await null
          return [before, currentWork()]
        }),
      ),
    )
    expect(both).toEqual([
      ['a', 'a renamed'],
      ['b', 'b renamed'],
    ])
    expect(currentWork()).toBe(null)
  })
})
