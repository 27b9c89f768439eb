import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { MAIN, ServerProcess, SOURCES } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { COMMAND_CASES } from '../../wiring/start-command-cases.ts'

const LONG = { timeout: 120_000 }

interface Run {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a command with a limit of open files. Only the sources load each package by its name, and so can lack one. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>, descriptors = 4_096): Promise<Run> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('HOLDFAST_'))
  const options = { env: { ...Object.fromEntries(inherited), ...env }, timeout: LONG.timeout }
  const main = env.NODE_OPTIONS === undefined ? MAIN : SOURCES
  const command = ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', process.execPath, main, ...args]
  return new Promise(done => {
    const child = execFile('/bin/sh', command, options, (_, stdout, stderr) => {
      done({ code: child.exitCode, stdout, stderr })
    })
  })
}

/** Returns the texts of the faults that a doctor prints as JSON. */
function faultsIn(stdout: string): string[] {
  const findings = stdout.split('\n').filter(line => line.startsWith('{'))
  return findings.map(line => JSON.parse(line)).flatMap(({ level, text }) => (level === 'fault' ? [text] : []))
}

describe('holdfast doctor', () => {
  afterAll(() => ServerProcess.killAll())

  test.each(Object.entries(COMMAND_CASES))('names what refuses serve: %s', LONG, (_, given) =>
    withTempDir(async directory => {
      const config = join(directory, 'config.json')
      const args = ['--data-dir', join(directory, 'data'), '--config', config, '--port', '0', '--gateway-port', '0']
      const other = createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as AddressInfo
      writeFileSync(config, typeof given.config === 'string' ? given.config : given.config(port))
      try {
        const { env = {}, descriptors } = given
        const examined = await run(['doctor', '--json', ...args], env, descriptors)
        const refused = await run(['serve', ...args], env, descriptors)
        expect([refused.code, examined.code]).toEqual([2, 1])
        const message =
          refused.stderr
            .split('\n')
            .find(line => line.startsWith('holdfast: '))
            ?.slice(10) ?? refused.stderr
        expect(faultsIn(examined.stdout).filter(text => text.startsWith(message))).toHaveLength(1)
      } finally {
        other.close()
      }
    }),
  )

  test('names the process that owns the data directory, on another port', LONG, () =>
    withTempDir(async directory => {
      const config = join(directory, 'config.json')
      writeFileSync(config, JSON.stringify({ network: { enabled: false } }))
      const dataDir = join(directory, 'data')
      const args = ['doctor', '--json', '--data-dir', dataDir, '--config', config, '--port', '0', '--gateway-port', '0']
      const server = await ServerProcess.start(dataDir, ['--config', config])
      const text = `${dataDir} is in use by another running Holdfast (pid ${server.pid}): stop it first`
      expect(faultsIn((await run(args, {})).stdout)).toEqual([text])
      await server.stop()
      expect(faultsIn((await run(args, {})).stdout)).toEqual([])
    }),
  )
})
