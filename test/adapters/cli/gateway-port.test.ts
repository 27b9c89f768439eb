import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { fixedPort } from '../../support/fixed-port.ts'
import { runHoldfast, ServerProcess, temporaryDirectory } from '../../support/server-process.ts'

const KEY = 'a-secret-of-thirty-two-characters-or-more'
const SANDBOX = /^sandbox /

let directory: ReturnType<typeof temporaryDirectory>
let dataDir: string
beforeEach(() => {
  directory = temporaryDirectory()
  dataDir = join(directory.path, 'data')
})
afterEach(() => directory.remove())
afterAll(() => ServerProcess.killAll())

/** Returns the printed base of the gateway. */
const gatewayBase = ({ stdout }: ServerProcess): string => /^gateway base {3}(\S+)$/m.exec(stdout)?.[1] ?? ''
const portOf = (url: string): number => Number(new URL(url).port)

async function clusterBase(server: ServerProcess): Promise<string> {
  const answer = await fetch(`${server.api}/users/me/clusters`, { headers: { 'x-api-key': KEY } })
  const [cluster] = (await answer.json()) as [{ gateways: [{ publicUrl: string }] }]
  return cluster.gateways[0].publicUrl
}

async function upload(server: ServerProcess, name: string, content: string): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([content]), name)
  const answer = await fetch(`${server.api}/files`, { method: 'POST', headers: { 'x-api-key': KEY }, body: form })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { cid: string }).cid
}

/** Takes a port after a free one, and returns both. */
async function takePortBehindFree(): Promise<{ free: number; taken: Server }> {
  const free = await fixedPort(1)
  const taken = createServer()
  await once(taken.listen(free + 1, '127.0.0.1'), 'listening')
  return { free, taken }
}

describe('the port of the gateway', () => {
  test('is an origin of its own with unsandboxed pages', async () => {
    const server = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    const base = gatewayBase(server)
    expect(portOf(base)).not.toBe(portOf(server.url))
    expect(await clusterBase(server)).toBe(base)
    const cid = await upload(server, 'page.html', '<script>1</script>')
    const own = await fetch(`${base}${cid}?filename=page.html`)
    expect([own.status, await own.text()]).toEqual([200, '<script>1</script>'])
    expect(own.headers.get('content-security-policy')).toBe(null)
    const shared = await fetch(`${server.url}/ipfs/${cid}?filename=page.html`)
    expect(shared.status).toBe(200)
    expect(shared.headers.get('content-security-policy')).toMatch(SANDBOX)
    const page = await fetch(`${server.url}/ipfs/${cid}`, {
      headers: { 'sec-fetch-dest': 'document' },
      redirect: 'manual',
    })
    expect([page.status, page.headers.get('location')]).toEqual([307, `${base}${cid}`])
    for (const path of ['/metrics', '/health', '/api/v3', '/api/v3/users/me', '/']) {
      const answer = await fetch(new URL(path, base), { headers: { 'x-api-key': KEY } })
      expect(answer.status, path).toBe(404)
    }
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toMatch(/^holdfast_sent_bytes_total\{surface="gateway"\} [1-9]/m)
    expect(await server.stop()).toBe(0)
  })

  test('is the next after the API’s, or the API’s if taken', async () => {
    const { free, taken } = await takePortBehindFree()
    const without = await ServerProcess.start(dataDir, ['--port', `${free}`], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    expect(gatewayBase(without)).toBe(`http://127.0.0.1:${free}/ipfs/`)
    expect(await clusterBase(without)).toBe(`http://127.0.0.1:${free}/ipfs/`)
    expect(without.stdout.match(/the gateway has no port of its own/g)).toHaveLength(1)
    expect(await without.stop()).toBe(0)
    await new Promise(resolve => taken.close(resolve))
    const beside = await ServerProcess.start(dataDir, ['--port', `${free}`], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    expect(gatewayBase(beside)).toBe(`http://127.0.0.1:${free + 1}/ipfs/`)
    expect(await beside.stop()).toBe(0)
  })

  test('fails the start if it is configured and taken', async () => {
    const server = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    const port = portOf(gatewayBase(server))
    const other = ['serve', '--port', '0', '--data-dir', join(directory.path, 'other')]
    const remedy = 'another program uses the port: stop that program, or choose another port with --gateway-port'
    const refused = { code: 1, stderr: `holdfast: cannot listen on 127.0.0.1:${port}: ${remedy}\n` }
    expect(await runHoldfast([...other, '--gateway-port', `${port}`])).toMatchObject(refused)
    expect(await runHoldfast(other, { HOLDFAST_GATEWAY_PORT: `${port}` })).toMatchObject(refused)
    expect(await runHoldfast([...other, '--gateway-port', '65536'])).toMatchObject({ code: 2 })
    expect(await server.stop()).toBe(0)
  })

  test('says that the API has another address', async () => {
    const server = await ServerProcess.start(dataDir, [], { HOLDFAST_BOOTSTRAP_KEY: KEY })
    const api = new URL(gatewayBase(server)).origin
    const env = { HOLDFAST_API: api, HOLDFAST_API_KEY: KEY }
    const listed = await runHoldfast(['ls'], env)
    expect(listed).toMatchObject({ code: 1, stderr: expect.stringContaining('the API has another address') })
    const file = join(directory.path, 'a.txt')
    writeFileSync(file, 'a')
    const sent = await runHoldfast(['upload', file], env)
    expect(sent).toMatchObject({ code: 1, stderr: expect.stringContaining('the gateway, which is not the API,') })
    expect(await server.stop()).toBe(0)
  })

  test('is not shown if one public URL serves both', async () => {
    const config = join(directory.path, 'config.json')
    const start = async (value: object): Promise<string[]> => {
      writeFileSync(config, JSON.stringify(value))
      const server = await ServerProcess.start(dataDir, ['--config', config], { HOLDFAST_BOOTSTRAP_KEY: KEY })
      const told = [gatewayBase(server), await clusterBase(server)]
      await server.stop()
      return told
    }
    const publicUrl = 'https://pins.example.org'
    const both = `${publicUrl}/ipfs/`
    expect(await start({ publicUrl })).toEqual([both, both])
    const own = 'https://content.example.org/ipfs/'
    expect(await start({ publicUrl, gateway: { publicUrl: own } })).toEqual([own, own])
    expect(await start({ gateway: { publicUrl: own } })).toEqual([own, own])
  })
})
