import assert from 'node:assert/strict'
import { CID } from 'multiformats/cid'
import { sha512 } from 'multiformats/hashes/sha2'
import { type AuditContext, type GatewayAudit, get, getError } from './audit.ts'
import { AUDIT_HOST, rawBlock } from './world.ts'

const RULES = `# the site's own
/redirect-one /one.html
/302-two /two.html 302
/200-index /index.html 200
/posts/:year/:month/:title /articles/:year/:month/:title 301
/splat/* /moved/:splat 308
/elsewhere/:id https://example.org/:id 307
/not-found/* /404.html 404
/gone/* /410.html 410
/unavail/* /451.html 451\r
/missing-target /nowhere.html 200
/app/* /app.html 200
`

const site = {
  'index.html': 'index',
  'one.html': 'one',
  'two.html': 'two',
  '404.html': 'no such page',
  '410.html': 'gone page',
  '451.html': 'blocked page',
  'app.html': 'app',
  _redirects: RULES,
  sub: { 'index.html': 'sub' },
}

/** Requests a path on the content host name of a root. */
function onHost(cid: CID, port = ':8080'): Record<string, string> {
  return { host: `${cid}.ipfs.${AUDIT_HOST}${port}` }
}

async function location(context: AuditContext, path: string, status: number, headers: Record<string, string>) {
  return (await get(context, path, status, headers)).header('location')
}

/** Content with its own origin. */
export const siteAudits: readonly GatewayAudit[] = [
  {
    id: 'subdomain.content',
    name: 'MUST serve a root at its content host name (subdomain gateway, Host)',
    async run(context) {
      const cid = await context.world.addDirectory(site)
      const own = onHost(cid)
      assert.equal((await get(context, '/', 200, own)).text, 'index')
      assert.equal((await get(context, '/one.html', 200, own)).text, 'one')
      assert.equal(await location(context, '/sub?x', 301, own), '/sub/?x')
      assert.equal(await location(context, '//sub', 301, own), './sub/')
      assert.equal((await get(context, '/sub/', 200, own)).header('x-ipfs-path'), `/ipfs/${cid}/sub/`)
      const upper = { host: own.host?.toUpperCase() ?? '' }
      assert.equal((await get(context, '/two.html', 200, upper)).text, 'two')
      await getError(context, '/none', 404, 'NOT_FOUND', onHost(await context.world.addDirectory({ a: '1' })))
      await getError(context, '/', 400, 'INVALID_CID', { host: `nonsense.ipfs.${AUDIT_HOST}` })
      const file = await rawBlock(Buffer.from('a long name'), sha512)
      await context.world.addBlocks([file])
      assert.equal((await get(context, `/ipfs/${file[0]}`, 200)).text, 'a long name')
      const tooLong = await getError(context, '/', 400, 'INVALID_CID', onHost(file[0]))
      assert.match(tooLong.text, /CID incompatible with DNS label length limit of 63/)
    },
  },
  {
    id: 'subdomain.redirect',
    name: 'MUST redirect a path to the host name of its root (subdomain gateway, Location)',
    async run(context) {
      const { world } = context
      const cid = await world.addDirectory(site)
      const host = { host: `${AUDIT_HOST}:8080` }
      const scheme = context.scheme === undefined ? '' : `${context.scheme}:`
      const origin = `${scheme}//${cid}.ipfs.${AUDIT_HOST}:8080`
      assert.equal(await location(context, `/ipfs/${cid}`, 301, host), `${origin}/`)
      assert.equal(await location(context, `/ipfs/${cid}/a%20b?x=%20y`, 301, host), `${origin}/a%20b?x=%20y`)
      assert.equal(await location(context, `/ipfs/${cid.toV0()}/`, 301, host), `${origin}/`)
      // Formats for programs need no origin, and other hosts provide none.
      await get(context, `/ipfs/${cid}?format=raw`, 200, host)
      await get(context, `/ipfs/${cid}/`, 200, { host: '127.0.0.1:8080' })
      await get(context, `/ipfs/${cid}/`, 200, { host: `${cid}.ipfs.elsewhere.test` })
      const long = CID.createV1(0x55, await sha512.digest(Buffer.from('long')))
      await getError(context, `/ipfs/${long}`, 400, 'INVALID_CID', host)
    },
  },
  {
    id: 'subdomain.links',
    name: 'MUST link from a listing to other content outside of its own origin (subdomain gateway)',
    async run(context) {
      const cid = await context.world.addDirectory({ sub: { 'a.txt': 'a' } })
      const { text } = await get(context, '/sub/', 200, onHost(cid))
      assert.match(text, new RegExp(`href="//${AUDIT_HOST}:8080/ipfs/bafk\\w+\\?filename=a\\.txt"`))
      assert.match(text, /href="\.\/a\.txt"/)
    },
  },
  {
    id: 'subdomain.uri',
    name: 'MUST redirect ipfs:// addresses to their content (subdomain gateway, URI router)',
    async run(context) {
      const uri = encodeURIComponent('ipfs://bafkqaaa/a b/ü%20?x=1')
      assert.equal(await location(context, `/ipfs/?uri=${uri}`, 301, {}), './bafkqaaa/a%20b/%C3%BC%20?x=1')
      const own = { host: AUDIT_HOST }
      assert.equal(await location(context, `/ipfs?uri=${uri}`, 301, own), '/ipfs/bafkqaaa/a%20b/%C3%BC%20?x=1')
      await getError(context, '/ipfs/?uri=https%3A%2F%2Fexample.org', 400, 'VALIDATION')
    },
  },
  {
    id: 'redirects.rules',
    name: 'MUST redirect missing paths by the first matching rule (web _redirects, Evaluation)',
    async run(context) {
      const own = onHost(await context.world.addDirectory(site))
      assert.equal(await location(context, '/redirect-one', 301, own), '/one.html')
      assert.equal(await location(context, '/redirect-one/?a=b', 301, own), '/one.html?a=b')
      assert.equal(await location(context, '/302-two', 302, own), '/two.html')
      assert.equal(await location(context, '/posts/2022/06/h%C3%A9llo', 301, own), '/articles/2022/06/h%C3%A9llo')
      assert.equal(await location(context, '/splat/a/b%20c', 308, own), '/moved/a/b%20c')
      assert.equal(await location(context, '/elsewhere/7', 307, own), 'https://example.org/7')
      const pages = [
        ['/200-index', 200, 'index'],
        ['/not-found/x', 404, 'no such page'],
        ['/gone/x', 410, 'gone page'],
        ['/unavail/x', 451, 'blocked page'],
        ['/app/deep/link', 200, 'app'],
      ] as const
      for (const [path, status, text] of pages) {
        const answer = await get(context, path, status, { ...own, range: status === 200 ? 'x' : 'bytes=0-1' })
        assert.equal(answer.text, text)
        assert.match(answer.header('etag') ?? '', /^"bafk\w+"$/)
        assert.equal(answer.header('content-type'), 'text/html; charset=utf-8')
      }
      assert.equal((await context.request('HEAD', '/not-found/x', own)).status, 404)
      await getError(context, '/missing-target', 404, 'NOT_FOUND', own)
      await getError(context, '/no/rule', 404, 'NOT_FOUND', own)
    },
  },
  {
    id: 'redirects.encoded',
    name: 'MUST percent-encode a target that a header cannot hold (RFC 9110, 10.2.2)',
    async run(context) {
      const rules = [
        '/a /größe/日本',
        '/b/:name /\u0001/:name?q=é 302',
        '/c https://exämple.org/ 308',
        '/d /über.txt 200',
      ]
      const content = { 'über.txt': 'over', _redirects: rules.join('\n') }
      const own = onHost(await context.world.addDirectory(content))
      assert.equal(await location(context, '/a', 301, own), '/gr%C3%B6%C3%9Fe/%E6%97%A5%E6%9C%AC')
      assert.equal(await location(context, '/b/x', 302, own), '/%01/x?q=%C3%A9')
      assert.equal(await location(context, '/c', 308, own), 'https://ex%C3%A4mple.org/')
      assert.equal((await get(context, '/d', 200, own)).text, 'over')
    },
  },
  {
    id: 'redirects.not-forced',
    name: 'MUST NOT apply rules to existing paths, or without an own origin (web _redirects, No Forced Redirects)',
    async run(context) {
      const cid = await context.world.addDirectory({ ...site, _redirects: '/* /two.html 302' })
      assert.equal((await get(context, '/one.html', 200, onHost(cid))).text, 'one')
      assert.equal(await location(context, '/none', 302, onHost(cid)), '/two.html')
      await getError(context, `/ipfs/${cid}/none`, 404, 'NOT_FOUND')
    },
  },
  {
    id: 'redirects.invalid',
    name: 'MUST answer 500 that names the line of a broken file, and refuse one that is too large (Error Handling)',
    async run(context) {
      const broken = [
        '/a',
        '/a /b 999',
        'a /b',
        '/a /b 301!',
        '/*/x /b',
        '/a https://example.org 200',
        '/a //evil.test',
      ]
      for (const rules of [...broken, '#'.repeat(64 * 1024 + 1), Buffer.from([0xff, 0xfe])]) {
        const cid = await context.world.addDirectory({ 'x.txt': 'x', _redirects: rules })
        const answer = await getError(context, '/none', 500, 'REDIRECTS_INVALID', onHost(cid))
        assert.match(answer.text, /could not parse _redirects: /)
        await get(context, '/x.txt', 200, onHost(cid))
      }
      const fits = await context.world.addDirectory({ _redirects: `/a /b\n#${'#'.repeat(64 * 1024 - 7)}` })
      assert.equal(await location(context, '/a', 301, onHost(fits)), '/b')
    },
  },
]
