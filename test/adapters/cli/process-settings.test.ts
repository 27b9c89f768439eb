import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { restartWithSettings, type StartedProcess } from '../../../adapters/cli/process-settings.ts'
import { needs } from '../../support/needs.ts'
import { MAIN, ServerProcess, SOURCES } from '../../support/server-process.ts'
import { withDatabase } from '../../support/store-inspection.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const SETTINGS = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '1048576', MALLOC_MMAP_THRESHOLD_: '1048576' }
const FLAG = '--max-semi-space-size=4'
const hasProc = process.platform === 'linux'
const canTrace = hasProc && spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true']).status === 0

afterAll(() => ServerProcess.killAll())

/** Returns the arguments of the restart; null if the process goes on. */
function restarted(given: Partial<StartedProcess> = {}) {
  let call: { args: string[]; env: Record<string, string> } | null = null
  const execve = (_: string, args: string[], env: Record<string, string>): void => {
    call = { args, env }
  }
  const argv = ['node', 'main.js', 'serve', '--port', '0']
  restartWithSettings({ env: {}, execArgv: [], argv, execPath: process.execPath, execve, ...given })
  return call as { args: string[]; env: Record<string, string> } | null
}

describe('a restart with settings', () => {
  test('keeps arguments, flags and settings of the user', () => {
    const env = { HOME: '/root', MALLOC_ARENA_MAX: '8' }
    expect(restarted({ env, execArgv: ['--expose-gc'] })).toEqual({
      args: [process.execPath, '--expose-gc', FLAG, 'main.js', 'serve', '--port', '0'],
      env: { HOME: '/root', ...SETTINGS, MALLOC_ARENA_MAX: '8' },
    })
    expect(restarted({ execArgv: ['--max-semi-space-size=16'] })?.args.slice(1, 3)).toEqual([
      '--max-semi-space-size=16',
      'main.js',
    ])
  })

  test('happens once, for a server, where a process can be replaced', () => {
    expect(restarted({ env: SETTINGS, execArgv: [FLAG] })).toBeNull()
    expect(restarted({ env: { ...SETTINGS, NODE_OPTIONS: FLAG } })).toBeNull()
    expect(restarted({ argv: ['node', 'main.js', 'get', 'bafy'] })).toBeNull()
    expect(restarted({ execve: undefined })).toBeNull()
    expect(restarted({ execPath: '/nowhere/node' })).toBeNull()
  })

  test('uses the flag of the first line, which Windows reads', () => {
    expect(readFileSync(SOURCES, 'utf8').split('\n')[0]).toBe(`#!/usr/bin/env -S node ${FLAG}`)
  })
})

describe('a server from the sources', needs(hasProc, 'there is no /proc'), () => {
  test('has the settings of its start', { timeout: 180_000 }, () =>
    withTempDir(async dir => {
      const server = await ServerProcess.start(join(dir, 'data'), [], {}, undefined, [], undefined, SOURCES)
      const variables = readFileSync(`/proc/${server.pid}/environ`, 'utf8').split('\0')
      expect(variables).toEqual(expect.arrayContaining(Object.entries(SETTINGS).map(pair => pair.join('='))))
      expect(readFileSync(`/proc/${server.pid}/cmdline`, 'utf8').split('\0')).toContain(FLAG)
      await server.stop()
    }),
  )
})

describe('system calls of a server', needs(canTrace, 'there is no strace, or it may not trace'), () => {
  test('writes nothing outside its data directory', { timeout: 180_000 }, () =>
    withTempDir(async dir => {
      const dataDir = join(dir, 'data')
      await traced(dir, ['serve', '--port', '0', '--gateway-port', '0', '--data-dir', dataDir])
      // More than the cache holds, so that SQLite needs a temporary file.
      const filler = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
        INSERT INTO small_blocks (block_id, bytes) SELECT 1000 + i, randomblob(1000000) FROM n`
      withDatabase(dataDir, db => db.prepare(filler).run())
      await traced(dir, ['compact', '--data-dir', dataDir])
      const names = (await readdir(dir)).filter(name => name.startsWith('calls-'))
      const lines = (await Promise.all(names.map(name => readFile(join(dir, name), 'utf8')))).join('\n').split('\n')
      const paths = lines
        .filter(line => !/ = -1 /.test(line) && (!/\bopen(at)?\(/.test(line) || /O_WRONLY|O_RDWR|O_CREAT/.test(line)))
        .flatMap(line => [...line.matchAll(/"([^"]*)"/g)].map(match => match[1] ?? ''))
      expect(paths).toContain(join(dataDir, 'holdfast.db'))
      expect(paths.filter(path => !path.startsWith(dataDir) && path !== '/dev/null')).toEqual([])
    }),
  )
})

/** Runs a command until it ends, a server until it listens, and writes its system calls to files `calls-`. */
async function traced(dir: string, command: readonly string[]): Promise<void> {
  const calls =
    'open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat'
  // With -D, the process that this test starts and stops is the command, not the tracer.
  const strace = ['-D', '-f', '-s', '4096', '-o', join(dir, `calls-${command[0]}`), '-e', `trace=${calls}`]
  const env = { ...process.env, NODE_COMPILE_CACHE: '' }
  const child = spawn('strace', [...strace, process.execPath, MAIN, ...command], {
    env,
    stdio: ['ignore', 'pipe', 2],
  })
  const ended = once(child, 'close')
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    if (text.includes('import folder')) child.kill('SIGTERM')
  })
  expect((await ended)[0]).toBe(0)
}
