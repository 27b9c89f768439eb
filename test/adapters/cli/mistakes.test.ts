import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { runCommandLine } from '../../../adapters/cli/command-line.ts'
import { serverAdapters } from '../../../adapters/cli/server-adapters.ts'
import { checkConfig, isHoldfastError } from '../../../src/index.ts'
import { createTestEngine, type TestEngine } from '../../../src/testing/index.ts'
import { type ServedEngine, serveEngine } from '../../support/served-engine.ts'
import { temporaryDirectory } from '../../support/server-process.ts'
import { mistakenCalls } from './support/mistaken-calls.ts'
import { type Mistake, mistakenCommands } from './support/mistaken-commands.ts'
import { mistakenConfigs } from './support/mistaken-configs.ts'
import { mistakenRequests } from './support/mistaken-requests.ts'

let directory: ReturnType<typeof temporaryDirectory>
let server: ServedEngine
let engine: TestEngine
beforeAll(async () => {
  directory = temporaryDirectory()
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(directory.path, name), name)
  server = await serveEngine(join(directory.path, 'data'))
  engine = await createTestEngine()
  // Each command listens for a closed pipe until its process ends.
  process.stdout.setMaxListeners(100)
})
afterAll(async () => {
  await engine.stop()
  await server[Symbol.asyncDispose]()
  directory.remove()
})

/** Returns what a command line writes to standard error. */
async function toldBy(line: string): Promise<string> {
  const words = line.replaceAll('DIR', directory.path).split(' ')
  const isVariable = (word: string): boolean => /^[A-Z_]+=/.test(word)
  const given = Object.fromEntries(words.filter(isVariable).map(word => word.split('=')))
  const env = { ...server.env, HOLDFAST_DATA_DIR: join(directory.path, 'data'), XDG_CONFIG_HOME: '/nowhere', ...given }
  const said = vi.spyOn(console, 'error').mockReturnValue(undefined)
  const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  try {
    const args = words.filter(word => !isVariable(word))
    expect(await runCommandLine(args, env)).not.toBe(0)
    return said.mock.calls.flat().join('\n').replaceAll(directory.path, 'DIR')
  } finally {
    said.mockRestore()
    printed.mockRestore()
  }
}

/** Returns the message of the HoldfastError that the work throws. */
async function thrownBy(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    if (isHoldfastError(error)) return error.message
    throw error
  }
  throw new Error('there is no error')
}

async function answeredTo([target, body]: (typeof mistakenRequests)[number][0]): Promise<string> {
  const [method = '', path] = target.split(' ')
  const headers = { 'x-api-key': server.key, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) ?? null })
  expect(response.ok).toBe(false)
  return ((await response.json()) as { message: string }).message
}

/** Expects both in one line: what is wrong, and what to do. */
function expectBoth(answer: string, fault: string | RegExp, remedy: string | RegExp): void {
  expect(answer.trim().split('\n')).toHaveLength(1)
  expect(answer).toMatch(fault)
  expect(answer).toMatch(remedy)
}

describe('the answer to a mistake names the fault and the remedy', () => {
  test.each(mistakenCommands)('command: %s', async (line, fault, remedy) => {
    expectBoth(await toldBy(line), fault, remedy)
  })

  test.each(mistakenConfigs)('configuration: %j', async (config, fault, remedy) => {
    expectBoth(await thrownBy(() => checkConfig(config, 'config', serverAdapters.adapters)), fault, remedy)
  })

  const calls = mistakenCalls.map(([call, fault, remedy]) => [fault, call, remedy] as const)
  test.each(calls)('call: %s', async (fault, call, remedy) => {
    expectBoth(await thrownBy(() => call(engine, directory.path)), fault, remedy)
  })

  test.each(mistakenRequests)('request: %j', async (request, fault, remedy) => {
    expectBoth(await answeredTo(request), fault, remedy)
  })

  test('100 mistakes are checked, and no two are the same', () => {
    const all: readonly Mistake<unknown>[] = [
      ...mistakenCommands,
      ...mistakenConfigs,
      ...mistakenCalls,
      ...mistakenRequests,
    ]
    const given = all.map(([mistake]) => (typeof mistake === 'function' ? String(mistake) : JSON.stringify(mistake)))
    expect(new Set(given).size).toBe(all.length)
    expect(all.length).toBeGreaterThanOrEqual(100)
  })
})
