import { afterEach, beforeEach, expect, test } from 'vitest'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import { directClient } from './client.ts'
import { AUDIT_HOST, directoryBlock, GatewayWorld } from './world.ts'

const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-downloads allow-modals'
const ACTIVE = [
  'page.html',
  'page.htm',
  'page.xhtml',
  'image.svg',
  'feed.xml',
  'feed.rss',
  'style.xsl',
  'unnamed',
  'a.php',
]
const PASSIVE = ['film.mp4', 'paper.pdf', 'data.json', 'script.js', 'style.css', 'image.png', 'text.txt']

let world: GatewayWorld

beforeEach(async () => {
  world = await GatewayWorld.open()
})

afterEach(() => world.close())

test('pages on a shared origin are sandboxed, also without a body', async () => {
  const markup = '<!doctype html><svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>'
  const names = [...ACTIVE, ...PASSIVE]
  const root = await world.addDirectory({
    ...Object.fromEntries(names.map(name => [name, markup])),
    site: { 'index.html': markup },
    plain: { a: 'a' },
  })
  const { request } = directClient(world.gateway())
  const policyOf = async (path: string, headers?: Record<string, string>): Promise<string | undefined> =>
    (await request('GET', `/ipfs/${root}/${path}`, headers)).header('content-security-policy')
  for (const name of names) {
    const expected = ACTIVE.includes(name) ? SANDBOX : undefined
    expect(await policyOf(name), name).toBe(expected)
    expect((await request('HEAD', `/ipfs/${root}/${name}`)).header('content-security-policy'), name).toBe(expected)
    const { header } = await request('GET', `/ipfs/${root}/${name}`)
    const known = await request('GET', `/ipfs/${root}/${name}`, { 'if-none-match': header('etag') ?? '' })
    expect(known.status).toBe(304)
    expect(known.header('content-security-policy'), name).toBe(expected)
    expect(await policyOf(name, { range: 'bytes=0-5' }), name).toBe(expected)
    expect(await policyOf(name, { range: 'bytes=0-5,8-9' }), name).toBe(expected)
  }
  expect(await policyOf('site/')).toBe(SANDBOX)
  expect(await policyOf('unnamed?filename=x.html')).toBe(SANDBOX)
  expect(await policyOf('page.html?filename=x.txt')).toBe(undefined)
  // The gateway's own pages have their own policy.
  expect(await policyOf('plain/')).toMatch(/^default-src 'none'/)
  expect(await policyOf('missing', { accept: 'text/html' })).toMatch(/^default-src 'none'/)
})

test('pages with their own origin are not sandboxed', async () => {
  const root = await world.addDirectory({ 'index.html': '<p>' })
  const host = { host: `${root}.ipfs.${AUDIT_HOST}` }
  const isolated = await directClient(world.gateway({ host: AUDIT_HOST })).request('GET', '/', host)
  expect(isolated.status).toBe(200)
  expect(isolated.header('content-security-policy')).toBe(undefined)
  const own = await directClient(world.gateway({ ownOrigin: true })).request('GET', `/ipfs/${root}/`)
  expect(own.status).toBe(200)
  expect(own.header('content-security-policy')).toBe(undefined)
})

test('pages of a requested identity CID are sandboxed on every origin', async () => {
  const { cid } = identityBlock(CODEC.raw, Buffer.from('<p>'))
  const isolated = directClient(world.gateway({ host: AUDIT_HOST }))
  const own = directClient(world.gateway({ ownOrigin: true }))
  const query = '?filename=index.html'
  for (const answer of [
    await isolated.request('GET', `/${query}`, { host: `${cid}.ipfs.${AUDIT_HOST}` }),
    await own.request('GET', `/ipfs/${cid}${query}`),
    await own.request('GET', `/ipfs/${cid}${query}`, { range: 'bytes=0-1' }),
  ]) {
    expect(answer.header('content-security-policy')).toBe(SANDBOX)
    expect(answer.header('cache-control')).toBe('no-cache')
  }
})

test('identity CIDs inside a pinned site are not sandboxed', async () => {
  const page = identityBlock(CODEC.raw, Buffer.from('<p>in the link'))
  const root = await world.addBlocks([await directoryBlock([['index.html', page.cid]])])
  const own = directClient(world.gateway({ ownOrigin: true }))
  for (const path of [`/ipfs/${root}/`, `/ipfs/${root}/index.html`]) {
    const answer = await own.request('GET', path)
    expect(answer.text).toBe('<p>in the link')
    expect(answer.header('content-security-policy')).toBe(undefined)
    expect(answer.header('cache-control')).toMatch(/immutable/)
  }
})

test('the trustless gateway probe is answered despite an allow list', async () => {
  const { request } = directClient(world.gateway({ mode: 'allow-list', allow: [] }))
  expect((await request('GET', '/ipfs/bafkqaaa?format=raw')).status).toBe(200)
  const { cid } = identityBlock(CODEC.raw, Buffer.from('not listed'))
  expect((await request('GET', `/ipfs/${cid}`)).status).toBe(404)
})
