import { afterEach, expect, test } from 'vitest'
import { needsPosix } from '../../support/needs.ts'
import { ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

/** Warns at one signal, and fails at another. */
const SAYS = `
  process.on('SIGWINCH', () => process.emitWarning('something odd', { code: 'ODD' }))
  process.on('SIGUSR2', () => setImmediate(() => { throw new Error('something broken') }))
`
const NODE_ARGS = ['--import', `data:text/javascript,${encodeURIComponent(SAYS)}`]
const START = /^(listening on|API base|gateway base|console {7}|import folder|peer address) /

afterEach(() => ServerProcess.killAll())

test('every line but the start message is JSON, failures too', needsPosix, async () => {
  const dataDir = temporaryDirectory()
  try {
    const env = { HOLDFAST_BOOTSTRAP_KEY: 'a-key-that-is-long-enough-to-be-one' }
    const server = await ServerProcess.start(dataDir.path, [], env, undefined, NODE_ARGS)
    await server.until(/; echo\n\n/)
    await (await fetch(`${server.url}/api/v3`)).text()
    await (await fetch(`${server.url}/ipfs/nonsense`)).text()
    expect((await fetch(`${server.url}/console/`)).status).toBe(200)
    server.signal('SIGWINCH')
    await server.until(/something odd/)
    server.signal('SIGUSR2')
    expect(await server.ended()).toBe(1)
    expect(server.stderr).toBe('')
    const [, log = ''] = server.stdout.split('; echo\n\n')
    const before = server.stdout
      .slice(0, server.stdout.length - log.length)
      .split('\n')
      .filter(line => line.startsWith('{'))
    const lines = [...before, ...log.trimEnd().split('\n')].map(line => JSON.parse(line) as Record<string, unknown>)
    for (const line of lines) {
      expect(line).toMatchObject({ level: expect.any(Number), time: expect.any(Number), pid: server.pid })
      expect(line).toMatchObject({ hostname: expect.any(String), msg: expect.any(String) })
    }
    const requests = lines.filter(({ msg }) => msg === 'request')
    expect(requests.map(({ surface, client, status }) => [surface, client, status])).toEqual([
      ['api', '127.0.0.1', 200],
      ['gateway', '127.0.0.1', 400],
    ])
    expect(requests.map(line => Object.keys(line).filter(key => key !== 'code'))[0]).toEqual(
      Object.keys(requests[1] ?? {}).filter(key => key !== 'code'),
    )
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, err: expect.objectContaining({ code: 'ODD' }) }))
    expect(lines.filter(({ msg }) => msg === 'warning of the process')).toHaveLength(1)
    expect(lines.at(-1)).toMatchObject({ level: 60, err: { message: 'something broken' } })
    expect(START.test(server.stdout)).toBe(true)
  } finally {
    dataDir.remove()
  }
})
