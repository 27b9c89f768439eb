import assert from 'node:assert/strict'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { type GatewayAudit, get, getError } from './audit.ts'
import { fileNode, pbBlock } from './world.ts'

/** Requirements for every request. */
export const mannerAudits: readonly GatewayAudit[] = [
  {
    id: 'manners.probe',
    name: 'MUST answer /ipfs/ at once',
    async run(context) {
      await getError(context, '/ipfs/', 400, 'INVALID_CID')
      assert.ok((await context.request('GET', '/ipfs')).status >= 400)
    },
  },
  {
    id: 'manners.bad-cid',
    name: 'MUST answer 400 to an invalid or unsupported CID (path gateway, 400 Bad Request)',
    async run(context) {
      const blake = CID.createV1(0x55, {
        code: 0xb220,
        size: 32,
        digest: new Uint8Array(32),
        bytes: new Uint8Array([0xa0, 0xe4, 0x02, 32, ...new Uint8Array(32)]),
      })
      for (const bad of [
        'x',
        'Qm',
        'bafy',
        '%20',
        `${'a'.repeat(5000)}`,
        blake.toString(),
        'bafzaajaiaejcbzdibmxyzdjbbehgvizh6g5tikvy47mshdy6gwbruvgwvd24seje',
      ]) {
        await getError(context, `/ipfs/${bad}`, 400, 'INVALID_CID')
      }
      // A name is bytes, UTF-8 or not.
      await getError(context, '/ipfs/bafkqaaa/%ff', 404, 'NOT_FOUND')
      await getError(context, '/ipfs/bafkqaaa/%zz', 400, 'INVALID_PATH')
    },
  },
  {
    id: 'manners.not-here',
    name: 'MUST answer 404 at once to missing content, 412 if only a cached answer is wanted (404, 412)',
    async run(context) {
      const cid = CID.createV1(0x55, await sha256.digest(Buffer.from('nowhere')))
      const answer = await getError(context, `/ipfs/${cid}`, 404, 'CID_NOT_FOUND')
      assert.match(answer.text, /not pinned on this node/)
      const headers = { 'cache-control': 'only-if-cached' }
      await getError(context, `/ipfs/${cid}`, 412, 'PRECONDITION_FAILED', headers)
      assert.equal((await context.request('HEAD', `/ipfs/${cid}`, headers)).status, 412)
      const here = await context.world.addFile('here')
      await get(context, `/ipfs/${here}`, 200, headers)
      assert.equal((await context.request('HEAD', `/ipfs/${here}`, headers)).status, 200)
    },
  },
  {
    id: 'manners.removed',
    name: 'MUST answer 404 after the last pin is gone, and serve blocks of other pins',
    async run(context) {
      const { world } = context
      const one = await world.addDirectory({ 'shared.txt': 'shared', 'own.txt': 'own' })
      const shared = await world.addFile('shared')
      const own = (await get(context, `/ipfs/${one}/own.txt`, 200)).header('etag')?.slice(1, -1)
      await get(context, `/ipfs/${own}`, 200)
      await world.drop(one)
      await getError(context, `/ipfs/${one}/`, 404, 'CID_NOT_FOUND')
      await getError(context, `/ipfs/${own}`, 404, 'CID_NOT_FOUND')
      await get(context, `/ipfs/${shared}`, 200)
    },
  },
  {
    id: 'manners.inline-root',
    name: 'MUST NOT let an inline root open content that no live pin needs',
    async run(context) {
      const { world } = context
      const secret = await world.addFile('was pinned once')
      const kept = await world.addFile('is pinned')
      const [, node] = await pbBlock(fileNode([{ cid: secret, size: 15 }]))
      const [, fine] = await pbBlock(fileNode([{ cid: kept, size: 9 }]))
      await world.drop(secret)
      const inline = (bytes: Uint8Array): CID =>
        CID.createV1(0x70, {
          code: 0,
          size: bytes.length,
          digest: Uint8Array.from(bytes),
          bytes: Uint8Array.from([0, bytes.length, ...bytes]),
        })
      const answer = await context.request('GET', `/ipfs/${inline(node)}?filename=x.txt`)
      assert.equal(answer.status, 404)
      assert.ok(!answer.text.includes('was pinned'))
      assert.equal((await get(context, `/ipfs/${inline(fine)}?filename=x.txt`, 200)).text, 'is pinned')
    },
  },
  {
    id: 'manners.methods',
    name: 'MUST answer 405 with Allow to methods other than GET, HEAD and OPTIONS',
    async run({ request, world }) {
      const cid = await world.addFile('x')
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
        const answer = await request(method, `/ipfs/${cid}`)
        assert.equal(answer.status, 405)
        assert.equal(answer.header('allow'), 'GET, HEAD, OPTIONS')
      }
    },
  },
  {
    id: 'manners.cors',
    name: 'MUST let every origin read, on errors too, and answer preflights (path gateway, CORS)',
    async run({ request, world }) {
      const cid = await world.addFile('x')
      for (const path of [`/ipfs/${cid}`, '/ipfs/x']) {
        const answer = await request('GET', path, { origin: 'https://elsewhere.test' })
        assert.equal(answer.header('access-control-allow-origin'), '*')
        assert.match(answer.header('access-control-expose-headers') ?? '', /Content-Range.*X-Ipfs-Roots/)
      }
      const preflight = await request('OPTIONS', `/ipfs/${cid}`, {
        origin: 'https://elsewhere.test',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'range',
      })
      assert.equal(preflight.status, 204)
      assert.equal(preflight.header('access-control-allow-methods'), 'GET, HEAD, OPTIONS')
      assert.match(preflight.header('access-control-allow-headers') ?? '', /\bRange\b/)
    },
  },
  {
    id: 'manners.service-worker',
    name: 'MUST refuse a service worker for the whole gateway (path gateway, Service-Worker)',
    async run(context) {
      const script = await context.world.addDirectory({ 'sw.js': '1' })
      const cid = (await get(context, `/ipfs/${script}/sw.js`, 200)).header('etag')?.slice(1, -1)
      await getError(context, `/ipfs/${cid}?filename=sw.js`, 400, 'VALIDATION', { 'service-worker': 'script' })
      await get(context, `/ipfs/${script}/sw.js`, 200, { 'service-worker': 'script' })
    },
  },
  {
    id: 'manners.error-page',
    name: 'MUST give browsers an error page that shows names as text',
    async run(context) {
      const dir = await context.world.addDirectory({ a: '1' })
      const path = `/ipfs/${dir}/${encodeURIComponent('<script>alert(1)</script>')}`
      const answer = await get(context, path, 404, { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' })
      assert.match(answer.header('content-type') ?? '', /^text\/html/)
      assert.ok(!answer.text.includes('<script>'))
    },
  },
]
