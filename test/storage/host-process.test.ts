import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../../src/index.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { withEngine } from '../support/test-engine.ts'

const INDEX = pathToFileURL(join(import.meta.dirname, '..', '..', 'src', 'index.ts')).href

/** Runs a script in a process of its own. Returns its output and how it ended. */
async function runScript(dataDir: string, body: string): Promise<{ output: string; code: number | null }> {
  const script = `
    import { createEngine } from ${JSON.stringify(INDEX)}
    const engine = await createEngine({ dataDir: ${JSON.stringify(dataDir)} })
    const { id: account } = await engine.accounts.ensureOwner().then(owner => owner.account)
    ${body}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout?.on('data', bytes => {
    output += bytes
  })
  const [code] = await once(child, 'close')
  return { output, code }
}

describe('the process around an engine', () => {
  test('stays alive during an upload, and ends after the engine stops', async () => {
    await withTempDir(async dataDir => {
      const body = `
        const bytes = new Uint8Array(5_500_000).map((_, i) => (i * 7919) >> 5)
        const { record } = await engine.pins.upload(bytes, { account, timelock: '2099-01-01T00:00:00Z' })
        console.log('stored', record.size)
        await engine.collect({ graceSeconds: 0 })
        await engine.stop()
        console.log('stopped')`
      expect(await runScript(dataDir, body)).toEqual({ output: 'stored 5500000\nstopped\n', code: 0 })
    })
  })

  test('ends beside an idle engine', async () => {
    await withTempDir(async dataDir => {
      const body = `
        await engine.pins.upload(new Uint8Array(2_000_000), { account, timelock: '2099-01-01T00:00:00Z' })
        console.log('done')`
      expect(await runScript(dataDir, body)).toEqual({ output: 'done\n', code: 0 })
    })
  })

  test('gets no listeners from an engine, running or stopped', async () => {
    const listeners = (): Record<string, number> =>
      Object.fromEntries(process.eventNames().map(name => [String(name), process.listenerCount(name)]))
    const before = listeners()
    await withEngine(async ({ engine, account }) => {
      await engine.pins.upload(new Uint8Array(3_000_000), { account })
      expect(listeners()).toEqual(before)
    })
    expect(listeners()).toEqual(before)
  })

  test('may stop an engine twice, or dispose of it', async () => {
    await withTempDir(async dataDir => {
      const engine = await createEngine({ dataDir })
      await Promise.all([engine.stop(), engine.stop()])
      await engine[Symbol.asyncDispose]()
      await (await createEngine({ dataDir })).stop()
    })
  })
})
