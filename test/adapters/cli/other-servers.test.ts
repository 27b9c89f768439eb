import type { RequestListener } from 'node:http'
import { describe, expect, test } from 'vitest'
import { formatBytes, formatTable } from '../../../adapters/cli/printed-text.ts'
import { ProgressBar } from '../../../adapters/cli/progress-bar.ts'
import { type ScriptedServer, say, scriptedServer } from '../../support/scripted-server.ts'
import { runHoldfast } from '../../support/server-process.ts'
import { ABSENT } from './support/mistaken-commands.ts'

/** Runs a command on a server. */
const run = ({ base }: ScriptedServer, ...args: string[]) => runHoldfast([...args, '--api', base, '--key', 'secret'])

describe('commands on servers of other makes', () => {
  test('a list ends with any pages, and repeats nothing', async () => {
    const page = (ids: string[], total: number, limit?: number): RequestListener => {
      const uploads = ids.map(uploadId => ({ uploadId, cid: `cid-${uploadId}` }))
      return say(200, JSON.stringify({ uploads, total, ...(limit && { pagination: { limit } }) }))
    }
    // An upload after the first page has pushed its last row to the second.
    await using shifted = await scriptedServer(page(['c', 'b'], 3, 2), page(['b', 'a'], 4, 2))
    expect((await run(shifted, 'ls', '--json')).stdout.match(/cid-\w/g)).toEqual(['cid-c', 'cid-b', 'cid-a'])
    expect(shifted.seen).toEqual([1, 2].map(n => `GET /api/v3/users/me/uploads?page=${n}&limit=100`))

    await using short = await scriptedServer(page(['a'], 1_000), page([], 1_000))
    expect(await run(short, 'ls', '--json')).toMatchObject({ code: 0, stdout: '{"uploadId":"a","cid":"cid-a"}\n' })
    expect(short.seen).toHaveLength(2)
  })

  test('waiting for a pin ends when the server stops trying', async () => {
    const pinning = say(201, JSON.stringify({ cid: ABSENT, clusterId: 'c', status: 'pinning' }))
    const outcome = { cid: ABSENT, status: 'failed', nextAttemptAt: null, lastError: 'nobody has it' }
    const failed = say(200, JSON.stringify(outcome))
    await using server = await scriptedServer(pinning, failed)
    expect(await run(server, 'pin', ABSENT, '--wait')).toEqual({
      code: 1,
      stdout: '',
      stderr: `holdfast: ${ABSENT} is failed: nobody has it\n`,
    })
    expect(server.seen).toEqual([`POST /api/v3/files/pin/${ABSENT}`, `GET /api/v3/status/${ABSENT}?cl=c`])
  })
})

test('progress is drawn on a terminal only, and cleared', () => {
  let now = 0
  const drawn: string[] = []
  const target = { isTTY: true, columns: 200, write: (text: string) => drawn.push(text) }
  const bar = new ProgressBar('file.bin', 4_000_000, { target, now: () => now })
  bar.update(0)
  now = 50
  bar.update(100)
  now = 1_000
  bar.update(1_000_000)
  bar.end()
  expect(drawn).toHaveLength(3)
  expect(drawn[1]).toContain(`${'█'.repeat(6)}${'░'.repeat(18)}  25 %  1.0 MB of 4.0 MB  1.0 MB/s  3 s left  file.bin`)
  expect(drawn[2]).toBe('\r\x1b[K')

  const silent = new ProgressBar('file.bin', 10, { target: { ...target, isTTY: false }, now: () => now })
  silent.update(5)
  silent.end()
  expect(drawn).toHaveLength(3)
})

test('sizes and tables', () => {
  expect([0, 999, 1_000, 999_949, 999_950, 1_500_000_000].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '1.5 GB',
  ])
  expect(
    formatTable(
      [
        ['a', '1', 'long name'],
        ['bbb', '22', 'x\x1b[2J\n'],
      ],
      new Set([1]),
    ),
  ).toBe('a     1  long name\nbbb  22  x\uFFFD[2J\uFFFD')
})
