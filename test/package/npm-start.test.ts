import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { needsPosix } from '../support/needs.ts'
import { temporaryDirectory } from '../support/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')

/** Returns true if any process of a group is alive. */
function isRunning(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}

async function untilListening(child: ChildProcess): Promise<void> {
  let said = ''
  child.stdout?.setEncoding('utf8')
  for await (const text of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    said += String(text)
    if (/^import folder/m.test(said)) return
  }
  throw new Error(`ended without listening: ${said}`)
}

test.each(['start --', 'run holdfast -- serve'])(
  'npm %s: a signal to npm ends the server first',
  { timeout: 60_000, ...needsPosix },
  async command => {
    const directory = temporaryDirectory()
    const child = spawn('npm', [...command.split(' '), '--port', '0', '--data-dir', directory.path], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    const group = child.pid ?? Number.NaN
    try {
      await untilListening(child)
      child.stdout?.resume()
      child.kill('SIGTERM')
      await once(child, 'exit')
      expect(isRunning(group)).toBe(false)
    } finally {
      if (isRunning(group)) process.kill(-group, 'SIGKILL')
      directory.remove()
    }
  },
)
