import assert from 'node:assert/strict'
import { base58btc } from 'multiformats/bases/base58'
import { pseudoRandom } from '../support/bytes.ts'
import { assertSameHead, type GatewayAudit, get, getError } from './audit.ts'
import { AUDIT_HOST } from './world.ts'

/** Conditions of requests, and paths with a mistake that the gateway understands. */
export const requestAudits: readonly GatewayAudit[] = [
  {
    id: 'condition.match',
    name: 'MUST answer 412 if If-Match does not list the ETag, before If-None-Match and ranges (RFC 9110, 13.2.2)',
    async run(context) {
      const root = await context.world.addDirectory({ 'a.txt': 'x', about: '<html>', dir: { b: 'b' } })
      const paths = [
        'a.txt',
        'about',
        'dir/',
        'dir/?format=json',
        'a.txt?format=raw',
        'dir?format=car',
        'dir?format=tar',
      ]
      for (const path of paths.map(each => `/ipfs/${root}/${each}`)) {
        const etag = (await get(context, path, 200)).header('etag') ?? ''
        const isStrong = !etag.startsWith('W/')
        for (const method of ['GET', 'HEAD']) {
          const status = async (headers: Record<string, string>) =>
            (await context.request(method, path, headers)).status
          assert.equal(await status({ 'if-match': `"other", ${etag}` }), isStrong ? 200 : 412, path)
          assert.equal(await status({ 'if-match': '*' }), 200, path)
          assert.equal(await status({ 'if-match': '"other"' }), 412, path)
          assert.equal(await status({ 'if-match': `W/${etag.replace('W/', '')}` }), 412, path)
          assert.equal(await status({ 'if-match': '"other"', 'if-none-match': etag }), 412, path)
          assert.equal(await status({ 'if-match': '*', 'if-none-match': etag }), 304, path)
          assert.equal(await status({ 'if-match': '"other"', range: 'bytes=99-' }), 412, path)
        }
      }
      const path = `/ipfs/${root}/a.txt`
      await getError(context, path, 412, 'PRECONDITION_FAILED', { 'if-match': '"other"' })
      await assertSameHead(context, path, { 'if-match': '"other"' })
      // Conditions do not apply to an answer other than 2xx (RFC 9110, 13.2.1).
      await get(context, `/ipfs/${root}/none`, 404, { 'if-match': '"other"' })
      await get(context, `/ipfs/${root}/dir`, 301, { 'if-match': '"other"' })
    },
  },
  {
    id: 'condition.date',
    name: 'MUST ignore dates for content without a modification date (RFC 9110, 13.1.4)',
    async run(context) {
      const cid = await context.world.addFile('undated')
      for (const name of ['if-unmodified-since', 'if-modified-since']) {
        await get(context, `/ipfs/${cid}`, 200, { [name]: 'Thu, 01 Jan 1970 00:00:00 GMT' })
      }
    },
  },
  {
    id: 'path.doubled',
    name: 'MUST redirect /ipfs/ipfs/<cid>, which browsers make of ipfs://ipfs/<cid>',
    async run(context) {
      const cid = await context.world.addDirectory({ a: { 'b c': 'x' } })
      for (const rest of [`${cid}`, `${cid}/`, `${cid}/a/b%20c`, `${cid}/a//`, `${cid}/a/b%20c?x=%20y&filename=z`]) {
        const target = `/ipfs/ipfs/${rest}`
        const answer = await get(context, target, 301)
        const location = answer.header('location') ?? ''
        assert.equal(new URL(location, `http://gateway.test${target}`).href, `http://gateway.test/ipfs/${rest}`)
        // A gateway below a path prefix redirects below the same prefix.
        assert.equal(new URL(location, `http://gateway.test/p${target}`).href, `http://gateway.test/p/ipfs/${rest}`)
      }
      assert.equal((await context.request('HEAD', `/ipfs/ipfs/${cid}`)).status, 301)
      await getError(context, '/ipfs/ipfs', 400, 'INVALID_CID')
      await getError(context, '/ipfs/ipfs/', 400, 'INVALID_CID')
      await getError(context, '/ipfs/ipfs/nonsense', 400, 'INVALID_CID')
    },
  },
  {
    id: 'path.hints',
    name: 'MUST name the right path for an encoded slash, and for a CID in the wrong case',
    async run(context) {
      const cid = await context.world.addFile('x')
      const text = cid.toString()
      const version0 = base58btc.encode(cid.multihash.bytes).slice(1)
      for (const [path, hint] of [
        [`${text}%2Fa`, `Use /ipfs/${text}/a`],
        [`${text}%2fa%20b%2Fc/d`, `Use /ipfs/${text}/a%20b/c/d`],
        [`%2Fipfs%2F${text}`, `Use /ipfs/${text}`],
        [`${text}%2F%C3%BC`, `Use /ipfs/${text}/%C3%BC`],
        [version0.toLowerCase(), 'case-sensitive'],
        [version0.toUpperCase(), 'case-sensitive'],
        [`${version0.toLowerCase()}/a`, 'case-sensitive'],
        [cid.toString(base58btc).toLowerCase(), 'case-sensitive'],
      ]) {
        const { text: body } = await getError(context, `/ipfs/${path}`, 400, 'INVALID_CID')
        assert.ok(JSON.parse(body).message.includes(hint), `${path}: ${body}`)
      }
      for (const path of ['nonsense', `x${text}`, 'nonsense%2Fa', version0.slice(1)]) {
        const { text: body } = await getError(context, `/ipfs/${path}`, 400, 'INVALID_CID')
        assert.doesNotMatch(JSON.parse(body).message, /Use \/ipfs|case-sensitive/)
      }
      const host = { host: `${version0.toLowerCase()}.ipfs.${AUDIT_HOST}` }
      const { text: body } = await getError(context, '/', 400, 'INVALID_CID', host)
      assert.match(JSON.parse(body).message, /case-sensitive/)
    },
  },
  {
    id: 'car.outside',
    // Trustless gateway specification, entity-bytes: a gateway should answer 400 to a range entirely outside, if it knows
    // that upfront. It must send the part inside for a range partly outside, and dag-scope=block for one of no bytes.
    name: 'MUST refuse entity-bytes outside the content, clip them, and send one block for none (trustless gateway)',
    async run(context) {
      const size = 3_000_000
      const cid = await context.world.addFile(pseudoRandom(size, 'outside'))
      const empty = await context.world.addFile('')
      const car = async (range: string, of = cid): Promise<Buffer> =>
        (await get(context, `/ipfs/${of}?format=car&entity-bytes=${range}`, 200)).body
      const one = (await get(context, `/ipfs/${cid}?format=car&dag-scope=block`, 200)).body
      const all = (await get(context, `/ipfs/${cid}?format=car&dag-scope=entity`, 200)).body
      for (const range of [`${size}:*`, `${size}:${size + 5}`, `${size + 5}:${size}`, `-${size + 9}:-${size + 1}`]) {
        await getError(context, `/ipfs/${cid}?format=car&entity-bytes=${range}`, 400, 'VALIDATION')
      }
      for (const range of ['5:3', '-3:-5', '10:-2999995']) assert.ok((await car(range)).equals(one), range)
      for (const range of ['0:18446744073709551615', `-${size + 9}:*`, '0:*']) {
        assert.ok((await car(range)).equals(all), range)
      }
      for (const range of ['0:*', '5:9']) assert.ok((await car(range, empty)).length > 0)
    },
  },
]
