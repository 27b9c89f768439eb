import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { needsPostgres, startPostgres } from '../../support/postgres-server.ts'
import { type Env, runHoldfast, ServerProcess } from '../../support/server-process.ts'
import { withTempDir } from '../../support/temp-dir.ts'

const KEY = 'ready-0123456789abcdef0123456789abcdef'

async function statusAt(server: ServerProcess, path: string): Promise<[number, string]> {
  const answer = await fetch(`${server.url}${path}`)
  return [answer.status, ((await answer.json()) as { status: string }).status]
}

/** Returns the printed base of the gateway. */
const gatewayOf = ({ stdout }: ServerProcess): string => /^gateway base {3}(\S+)$/m.exec(stdout)?.[1] ?? ''

describe('/ready of a server', () => {
  afterEach(() => ServerProcess.killAll())
  const started = (dataDir: string, env: Env = {}, args: string[] = [], nodeArgs: string[] = []) =>
    ServerProcess.start(dataDir, args, { HOLDFAST_BOOTSTRAP_KEY: KEY, ...env }, undefined, nodeArgs)

  test('reports the stop first, while requests are still served', () =>
    withTempDir(async dataDir => {
      const server = await started(dataDir, { HOLDFAST_DRAIN_SECONDS: '60' })
      expect(await statusAt(server, '/ready')).toEqual([200, 'ok'])
      const open = http.request(`${server.api}/files`, {
        method: 'POST',
        headers: { 'x-api-key': KEY, 'content-type': 'multipart/form-data; boundary=b', 'content-length': '1000' },
      })
      open.on('error', () => undefined).flushHeaders()
      await once(open, 'socket')
      await statusAt(server, '/ready')
      server.signal('SIGTERM')
      await server.until(/"msg":"stopping"/)
      await expect.poll(() => statusAt(server, '/ready')).toEqual([503, 'stopping'])
      expect(await statusAt(server, '/health')).toEqual([200, 'stopping'])
      const body = new FormData()
      body.append('file', new Blob(['late']), 'late')
      const upload = await fetch(`${server.api}/files`, { method: 'POST', headers: { 'x-api-key': KEY }, body })
      expect(upload.status).toBe(201)
      // A second signal ends it at once.
      await expect
        .poll(
          () => {
            server.signal('SIGTERM')
            return server.pid > 0 && isThere(server.pid)
          },
          { interval: 300 },
        )
        .toBe(false)
      const next = await started(dataDir, { HOLDFAST_DRAIN_SECONDS: '0' })
      const list = await fetch(`${next.api}/users/me/uploads`, { headers: { 'x-api-key': KEY } })
      expect(await list.json()).toMatchObject({ total: 1 })
      expect(await next.stop()).toBe(0)
      const refused = await runHoldfast(['serve', '--data-dir', dataDir], { HOLDFAST_DRAIN_SECONDS: '301' })
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('HOLDFAST_DRAIN_SECONDS')])
    }))

  test('is 503 while the clock differs from the database’s, with a metric', needsPostgres, async () => {
    const postgres = await startPostgres()
    try {
      await withTempDir(async dataDir => {
        const config = join(dataDir, 'config.json')
        writeFileSync(config, JSON.stringify({ database: await postgres.fresh(), network: { enabled: false } }))
        const ahead = 'const now = Date.now; Date.now = () => now() + 60_000'
        const wrong = ['--import', `data:text/javascript,${encodeURIComponent(ahead)}`]
        const server = await started(dataDir, {}, ['--config', config], wrong)
        expect(await statusAt(server, '/ready')).toEqual([503, 'clock-skew'])
        expect(await statusAt(server, '/health')).toEqual([200, 'clock-skew'])
        const metrics = await (await fetch(`${server.url}/metrics`)).text()
        const skew = Number(/^holdfast_clock_skew_seconds (\S+)$/m.exec(metrics)?.[1])
        expect(skew).toBeGreaterThan(30)
        expect(skew).toBeLessThan(90)
        await server.stop()
        const right = await started(dataDir, {}, ['--config', config])
        expect(await statusAt(right, '/ready')).toEqual([200, 'ok'])
        await postgres.crash()
        await expect.poll(() => statusAt(right, '/ready')).toEqual([503, 'no-catalogue'])
        const gateway = await fetch(new URL('/ready', gatewayOf(right)))
        expect([gateway.status, await gateway.json()]).toEqual([200, { status: 'ok' }])
        await postgres.start()
        await expect.poll(() => statusAt(right, '/ready')).toEqual([200, 'ok'])
        expect(await right.stop()).toBe(0)
      })
    } finally {
      await postgres.stop()
    }
  })
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
