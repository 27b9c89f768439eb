import { describe, expect, test } from 'vitest'
import { SearchRoom } from '../../src/pins/lists/search-room.ts'
import { ManualClock } from '../support/manual-clock.ts'

const MIB = 1024 ** 2

/** Starts searches that end when the test says so. */
function searching(room: SearchRoom) {
  const running: string[] = []
  const waits: Array<() => void> = []
  const outcomes: Array<Promise<unknown>> = []
  return {
    running,
    outcomes,
    start: (account: string, count: number, rows = 20) => {
      for (let i = 0; i < count; i++) {
        const search = async (): Promise<void> => {
          running.push(account)
          await new Promise<void>(resolve => waits.push(resolve))
        }
        outcomes.push(room.hold(account, rows, search).catch((error: unknown) => error))
      }
    },
    end: () => waits.shift()?.(),
  }
}

const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

describe('running searches', () => {
  test('leave slots for other accounts', async () => {
    const searches = searching(new SearchRoom(64 * MIB, new ManualClock()))
    searches.start('crowd', 200)
    searches.start('other', 1)
    await settled()
    expect(searches.running).toEqual(['crowd', 'crowd', 'crowd', 'crowd', 'other'])
    searches.end()
    await settled()
    expect(searches.running.length).toBe(6)
  })

  test('are refused with a time to retry after 15 seconds', async () => {
    const clock = new ManualClock()
    const searches = searching(new SearchRoom(64 * MIB, clock))
    searches.start('crowd', 5)
    await settled()
    clock.advance(15_000)
    expect(await searches.outcomes[4]).toMatchObject({ code: 'UNAVAILABLE', details: { retryAfter: 1 } })
    expect(searches.running.length).toBe(4)
  })

  test('read pages of no more memory than their budget', async () => {
    const searches = searching(new SearchRoom(20 * MIB, new ManualClock()))
    for (const account of ['one', 'two', 'three']) searches.start(account, 1, 1_000)
    await settled()
    expect(searches.running).toEqual(['one'])
    searches.end()
    await settled()
    expect(searches.running).toEqual(['one', 'two'])
  })
})
