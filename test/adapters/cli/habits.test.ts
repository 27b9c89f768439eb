import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isCommand } from '../../../adapters/cli/all-commands.ts'
import { runCommandLine } from '../../../adapters/cli/command-line.ts'
import { timelockOf } from '../../../adapters/cli/content-words.ts'
import { COMMAND_HABITS, COMMAND_HINTS } from '../../../adapters/cli/habit-tables.ts'
import { HoldfastClient } from '../../../adapters/client/index.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { temporaryDirectory } from '../../support/server-process.ts'
import { habits } from './support/habits.ts'

let directory: ReturnType<typeof temporaryDirectory>
let server: ServedEngine
let cid = ''
beforeAll(async () => {
  directory = temporaryDirectory()
  mkdirSync(join(directory.path, 'tree'))
  for (const name of ['a.txt', 'b.txt', 'tree/c.txt']) writeFileSync(join(directory.path, name), name.slice(-5))
  server = await serveEngine(join(directory.path, 'data'))
  const client = new HoldfastClient({ base: `${server.url}/api/v3`, key: server.key })
  cid = (await client.files.upload('first', { name: 'first.txt' })).cid
  // Each command listens for a closed pipe until its process ends.
  process.stdout.setMaxListeners(200)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  directory.remove()
})

/** Returns what a command line prints, and writes to standard error. */
async function printedBy(line: string): Promise<string> {
  const args = line.split(' ').map(word => word.replace(/\bCID\b/, cid).replace('DIR', directory.path))
  const env = { ...server.env, HOLDFAST_DATA_DIR: join(directory.path, 'data'), XDG_CONFIG_HOME: '/nowhere' }
  const printed: string[] = []
  const note = (text: unknown): boolean => printed.push(String(text)) > 0
  const spies = [
    vi.spyOn(console, 'error').mockImplementation(text => void note(`${text}\n`)),
    vi.spyOn(process.stdout, 'write').mockImplementation(note),
  ]
  try {
    await runCommandLine(args, env)
    return printed.join('').replaceAll(directory.path, 'DIR').replaceAll(cid, 'CID')
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

describe('habits of other programs work, or get a hint', () => {
  test.each(habits)('%s', async (line, printed) => {
    expect(await printedBy(line)).toMatch(printed)
  })

  test('60 habits are checked, and no two are the same', () => {
    expect(new Set(habits.map(([line]) => line)).size).toBe(habits.length)
    expect(habits.length).toBeGreaterThanOrEqual(60)
  })

  test('no habit hides a command', () => {
    const names = [...COMMAND_HABITS.keys(), ...COMMAND_HINTS.keys()]
    expect(names.filter(isCommand)).toEqual([])
    expect(new Set(names).size).toBe(names.length)
  })
})

test('a timelock may be a duration', () => {
  vi.useFakeTimers({ now: Date.parse('2030-01-01T00:00:00Z'), toFake: ['Date'] })
  try {
    expect(timelockOf('12h')).toBe('2030-01-01T12:00:00.000Z')
    expect(timelockOf('7 days')).toBe('2030-01-08T00:00:00.000Z')
    expect(timelockOf('2w')).toBe('2030-01-15T00:00:00.000Z')
    expect(timelockOf('1m')).toBe('1m')
    expect(timelockOf('2030-12-31')).toBe('2030-12-31')
    expect(timelockOf(undefined)).toBeUndefined()
  } finally {
    vi.useRealTimers()
  }
})
