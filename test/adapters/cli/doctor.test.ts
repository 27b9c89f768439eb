import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CheckResult } from '../../../adapters/cli/check-result.ts'
import { checkBackups } from '../../../adapters/cli/doctor-backup.ts'
import { checkClockBehind, checkClusterDirectory, checkDataDirectory } from '../../../adapters/cli/doctor-disk.ts'
import { checkFreePorts } from '../../../adapters/cli/doctor-ports.ts'
import { askOwner, checkRunning } from '../../../adapters/cli/doctor-server.ts'
import { listen } from '../../../adapters/cli/listener.ts'
import { readServerSettings } from '../../../adapters/cli/settings.ts'
import { readSchema } from '../../../src/index.ts'
import { fixedPort } from '../../support/fixed-port.ts'
import { runHoldfast, ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const KEY = 'doctor-0123456789abcdef0123456789abcdef'
const NOW = Date.UTC(2030, 0, 10)

/** Returns the findings of a command, by the text of their check. */
async function examined(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await runHoldfast(['doctor', '--json', ...args], env)
  const findings: CheckResult[] = stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
  return { code, stderr, findings, of: (check: string) => findings.filter(found => found.check === check) }
}

/** Returns the size and time of each file, which a reader does not change. SQLite changes the time of its directory. */
async function stateOf(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true })
  const lines = names.map(async name => {
    const found = await stat(join(directory, name))
    return `${name} ${found.mode} ${found.isDirectory() ? '' : `${found.size} ${found.mtimeMs}`}`
  })
  return (await Promise.all(lines)).toSorted()
}

const levels = (findings: readonly CheckResult[]): string[] => findings.map(({ level, text }) => `${level} ${text}`)
const space = { reserveBytes: 1_000 }

describe('holdfast doctor', () => {
  afterAll(() => ServerProcess.killAll())

  test('changes nothing, with and without a running server', () =>
    withTempDir(async directory => {
      const dataDir = join(directory, 'data')
      const config = join(directory, 'config.json')
      writeFileSync(config, JSON.stringify({ network: { enabled: false } }))
      const port = await fixedPort(1)
      const args = ['--port', String(port), '--data-dir', dataDir, '--config', config]
      const before = await examined(args)
      expect([before.code, before.of(`port ${port}`)[0]?.text]).toEqual([0, 'free'])
      expect(before.of(`directory ${dataDir}`)[0]?.text).toContain('missing')
      expect(await readdir(directory)).toEqual(['config.json'])

      const env = { HOLDFAST_BOOTSTRAP_KEY: KEY }
      const server = await ServerProcess.start(dataDir, ['--port', String(port), '--config', config], env)
      const [known, unknown] = await Promise.all([examined([...args, '--key', KEY]), examined(args)])
      expect([known.code, unknown.code]).toEqual([0, 0])
      expect(levels(known.of(`port ${port}`))).toEqual([expect.stringMatching(/^ok Holdfast \S+ answers$/)])
      expect(levels(known.of('server'))).toEqual(['ok ready'])
      expect(known.of('owner')).toEqual([])
      expect(unknown.of('owner')).toMatchObject([{ level: 'warning', remedy: expect.stringContaining('--key') }])
      expect(await server.stop()).toBe(0)

      const state = await stateOf(directory)
      const after = await examined(args)
      expect(levels(after.of(`directory ${dataDir}`))[0]).toBe('ok a data directory')
      expect(await stateOf(directory)).toEqual(state)
    }))

  test('reports a wrong setting as its only finding, with exit code 1', async () => {
    const { code, stderr, findings } = await examined(['--config', '/nowhere/config.json'])
    expect([code, stderr]).toEqual([1, 'holdfast: 1 fault found\n'])
    expect(findings).toMatchObject([{ check: 'configuration', text: expect.stringContaining('/nowhere/config.json') }])
  })
})

describe('the data directory', () => {
  const first = async (path: string): Promise<CheckResult | undefined> =>
    (await checkDataDirectory({ path, ...space }, false))[0]

  /** Writes the header of a database with a version of the schema. */
  function writeSchema(directory: string, version: number): void {
    const header = Buffer.alloc(100)
    header.write('SQLite format 3\0', 'latin1')
    header.writeUInt32BE(version, 60)
    writeFileSync(join(directory, 'holdfast.db'), header)
  }

  test('is judged by its contents', () =>
    withTempDir(async directory => {
      expect(await first(directory)).toMatchObject({ level: 'warning', text: expect.stringContaining('empty') })
      writeFileSync(join(directory, 'photo.jpg'), '')
      expect(await first(directory)).toMatchObject({
        level: 'warning',
        text: expect.stringContaining('something else'),
      })
      mkdirSync(join(directory, 'blocks'))
      expect(await first(directory)).toMatchObject({ level: 'fault', remedy: expect.stringContaining('mount') })
      writeFileSync(join(directory, 'holdfast.db'), 'something else')
      expect(await first(directory)).toMatchObject({ level: 'fault', text: expect.stringContaining('not a SQLite') })
      writeSchema(directory, 1)
      expect(await first(directory)).toMatchObject({ level: 'warning', text: 'schema 1 of an older Holdfast' })
      expect((await checkDataDirectory({ path: directory, ...space }, true))[0]?.level).toBe('ok')
      const { newest = 0 } = (await readSchema(directory)) ?? {}
      writeSchema(directory, newest)
      expect(await first(directory)).toMatchObject({ level: 'ok' })
      writeSchema(directory, newest + 1)
      expect(await first(directory)).toMatchObject({ level: 'fault', text: expect.stringContaining('newer Holdfast') })
    }))

  test('that is a file is a fault', () =>
    withTempDir(async directory => {
      const path = join(directory, 'file')
      writeFileSync(path, '')
      for (const each of [path, join(path, 'below')]) {
        expect(await first(each)).toMatchObject({ level: 'fault', text: `${path} is not a directory` })
      }
    }))

  test('needs room beyond the reserve', () =>
    withTempDir(async path => {
      const all = await checkDataDirectory({ path, reserveBytes: Number.MAX_SAFE_INTEGER }, false)
      expect(all.at(-1)).toMatchObject({ level: 'fault', text: expect.stringContaining('new content is refused') })
    }))

  test('has a mark if it is that of a cluster', () =>
    withTempDir(async path => {
      expect((await checkClusterDirectory({ path, ...space }))[0]?.remedy).toContain('mount its disk')
      writeFileSync(join(path, 'identity'), 'x\n')
      expect((await checkClusterDirectory({ path, ...space })).map(({ text }) => text).join()).not.toContain('identity')
    }))

  test('is not newer than the clock', () =>
    withTempDir(async directory => {
      const file = join(directory, 'holdfast.db')
      writeFileSync(file, '')
      utimesSync(file, NOW / 1_000, NOW / 1_000)
      expect((await checkClockBehind(directory, NOW)).level).toBe('ok')
      expect(await checkClockBehind(directory, NOW - 60_000)).toMatchObject({
        level: 'fault',
        text: expect.stringMatching(/^60 seconds behind/),
      })
    }))

  test('has a backup of the last two days', () =>
    withTempDir(async root => {
      expect((await checkBackups([root, '/nowhere'], NOW)).level).toBe('warning')
      mkdirSync(join(root, 'monday'))
      const createdAt = new Date(NOW - 3 * 86_400_000).toISOString()
      writeFileSync(join(root, 'monday', 'manifest.json'), JSON.stringify({ createdAt }))
      expect(await checkBackups([root], NOW)).toMatchObject({ level: 'warning', text: 'the newest is 3 days old' })
      expect((await checkBackups([root], NOW - 86_400_000)).level).toBe('ok')
    }))
})

describe('the ports', () => {
  test('are free, or name what has them', async () => {
    const taken = createSocket()
    const port = await listen(taken, '127.0.0.1', 0)
    const settings = readServerSettings({ port: String(port), 'gateway-port': '0' }, {})
    const [api, gateway] = await checkFreePorts(settings)
    taken.close()
    expect(api).toMatchObject({ level: 'fault', text: expect.stringContaining(`(pid ${process.pid})`) })
    expect(gateway).toMatchObject({ level: 'ok', text: 'the start takes any free port' })
    const twice = await checkFreePorts({ ...settings, gatewayPort: port })
    expect(twice).toMatchObject([{ level: 'fault', remedy: 'choose another --gateway-port' }])
    const elsewhere = await checkFreePorts({ ...settings, host: '192.0.2.1', port })
    expect(elsewhere[0]).toMatchObject({ level: 'fault', text: expect.stringContaining('EADDRNOTAVAIL') })
  })
})

describe('a running server', () => {
  let server: Server
  let answers: Record<string, object> = {}
  let port = ''
  const keys: unknown[] = []
  beforeAll(async () => {
    server = createServer((request, response) => {
      keys.push(request.headers['x-api-key'] ?? request.headers.authorization)
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url ?? ''] ?? {}))
    })
    await listen(server, '127.0.0.1', 0)
    port = String((server.address() as AddressInfo).port)
  })
  afterAll(() => server.close())
  const settings = () => readServerSettings({ port }, {})

  test('reports its state, its peers and its public URL', async () => {
    answers = { '/ready': { status: 'no-storage', reason: 'blocks is gone' }, '/api/v3/peers': { count: 3 } }
    const publicUrl = `http://127.0.0.1:${port}`
    const findings = await checkRunning({ ...settings(), config: { publicUrl } })
    expect(levels(findings)).toEqual([
      'fault not ready: no-storage (blocks is gone)',
      'ok peers: 3',
      `warning no Holdfast answers at ${publicUrl}/api/v3 from this machine`,
    ])
    expect(findings[0]?.remedy).toContain('mount')
    answers = { '/ready': { status: 'ok', network: 'no-peers' } }
    expect(levels(await checkRunning(settings()))).toEqual(['ok ready', 'warning no peers on the public network'])
  })

  test('reports its clock and untrusted proxies to the owner', async () => {
    const failures = [{ message: 'trustedProxies is 0, but a request came through a proxy: …' }]
    answers = { '/admin/v1/stats': { clockSkewMs: 5_000 }, '/admin/v1/failures': { failures } }
    expect(levels(await askOwner(settings(), KEY, {}))).toEqual([
      'fault 5000 ms ahead of the clock of PostgreSQL',
      expect.stringContaining('fault requests came through a proxy'),
    ])
    answers = { '/admin/v1/stats': { clockSkewMs: null }, '/admin/v1/failures': { failures: [] } }
    expect(await askOwner(settings(), KEY, {})).toEqual([])
  })

  test('gets no key that the environment keeps for another server', async () => {
    keys.length = 0
    const env = { HOLDFAST_API: 'https://pins.example.org', HOLDFAST_API_KEY: KEY, XDG_CONFIG_HOME: '/nowhere' }
    expect(await askOwner(settings(), undefined, env)).toMatchObject([{ level: 'warning', check: 'owner' }])
    expect(keys).toEqual([])
    await askOwner(settings(), undefined, { ...env, HOLDFAST_API: `http://127.0.0.1:${port}` })
    expect(keys.length).toBe(2)
  })
})
