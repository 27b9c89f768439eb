import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApartGateway, type ApartOptions } from '../../src/gateway/site/documents-apart.ts'
import { directClient, type GatewayAnswer } from './client.ts'
import { AUDIT_HOST, GatewayWorld } from './world.ts'

const DOCUMENTS = ['document', 'frame', 'iframe', 'fencedframe', 'embed', 'object']
const WORKERS = ['worker', 'sharedworker', 'serviceworker']
const OTHERS = ['empty', 'image', 'script', 'style', 'video', 'audio', 'font', 'track', 'manifest']
const PUBLIC = 'https://content.example.org'

let world: GatewayWorld
let root: string

beforeEach(async () => {
  world = await GatewayWorld.open()
  root = String(await world.addDirectory({ 'a.html': '<script>1</script>' }))
})

afterEach(() => world.close())

interface Asked {
  host?: string
  dest?: string
  method?: string
  headers?: Record<string, string>
}

async function ask(apart: ApartGateway, path: string, { host, dest, method, headers }: Asked): Promise<GatewayAnswer> {
  const client = directClient(world.gateway({}, { apart }))
  return client.request(method ?? 'GET', path, {
    ...(host !== undefined && { host }),
    ...(dest !== undefined && { 'sec-fetch-dest': dest }),
    ...headers,
  })
}

function atPort(port: number | null, options: ApartOptions = {}): ApartGateway {
  const apart = new ApartGateway(options)
  apart.port = port
  return apart
}

test('documents, frames and workers go to the public gateway', async () => {
  const apart = atPort(null, { publicUrl: `${PUBLIC}/held` })
  const path = `/ipfs/${root}/a.html`
  for (const dest of [...DOCUMENTS, ...WORKERS]) {
    const { status, header } = await ask(apart, `${path}?filename=b%20c`, { host: 'pins.example.org', dest })
    expect([dest, status, header('location')]).toEqual([dest, 307, `${PUBLIC}/held${path}?filename=b%20c`])
    expect([header('vary'), header('cache-control')]).toEqual(['Sec-Fetch-Dest', 'no-cache'])
  }
  for (const dest of [...OTHERS, undefined]) {
    const { status, header } = await ask(apart, path, { host: 'pins.example.org', ...(dest && { dest }) })
    expect([dest, status, header('vary')]).toEqual([dest, 200, 'Accept, Sec-Fetch-Dest'])
    expect(header('content-security-policy')).toMatch(/^sandbox /)
  }
  const worker = await ask(apart, path, { host: 'pins.example.org', headers: { 'service-worker': 'script' } })
  expect(worker.status).toBe(307)
  const known = { dest: 'document', headers: { 'if-none-match': `"${root}"` } }
  expect((await ask(apart, `/ipfs/${root}`, { host: 'pins.example.org', ...known })).status).toBe(307)
  expect((await ask(apart, path, { host: 'pins.example.org', dest: 'document', method: 'POST' })).status).toBe(405)
})

test('documents of loopback hosts go to the gateway’s own port', async () => {
  const apart = atPort(4101)
  for (const name of ['localhost', 'pins.localhost', '127.0.0.1', '127.9.9.9', '[::1]']) {
    const { header } = await directClient(request =>
      world.gateway({}, { apart })({ ...request, scheme: 'http' }),
    ).request('GET', `/ipfs/${root}/a.html`, { host: `${name}:4100`, 'sec-fetch-dest': 'document' })
    expect(header('location')).toBe(`http://${name}:4101/ipfs/${root}/a.html`)
  }
})

test('documents stay where the gateway has no origin apart', () => {
  const at = (apart: ApartGateway, host: string | undefined) => apart.baseFor({ header: () => host, scheme: 'http' })
  const own = atPort(4101)
  expect(at(own, 'localhost:4100')).toBe('http://localhost:4101')
  for (const host of [
    'pins.example.org',
    'localhost.example.org',
    '10.0.0.1:4100',
    'localhost:4101',
    'a b',
    undefined,
  ]) {
    expect(at(own, host), host).toBe(null)
  }
  for (const scheme of ['https', undefined] as const) {
    expect(own.baseFor({ header: () => 'localhost:4100', scheme })).toBe(null)
  }
  expect(at(atPort(null), 'localhost:4100')).toBe(null)
  const published = (more: ApartOptions = {}) => atPort(4101, { publicUrl: PUBLIC, ...more })
  expect(at(published(), 'localhost:4100')).toBe(PUBLIC)
  for (const host of ['content.example.org', 'Content.Example.org:443']) expect(at(published(), host), host).toBe(null)
  // Its operator says that this origin has only content, so no console with a sign-in shares it.
  expect(at(published({ ownOrigin: true }), 'pins.example.org')).toBe(null)
  for (const host of [AUDIT_HOST, `bafy.ipfs.${AUDIT_HOST}`]) {
    expect(at(published({ host: AUDIT_HOST }), host), host).toBe(null)
  }
})
