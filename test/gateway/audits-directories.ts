import assert from 'node:assert/strict'
import { assertSameHead, type GatewayAudit, get, getError } from './audit.ts'

const AWKWARD = [
  'a b',
  '100%',
  'a%20b',
  'a#b',
  'a?b',
  'a&b',
  'q"uote',
  "apos'",
  '<b>',
  'back\\slash',
  'ünïcödé',
  '😀',
  'c:d',
  '+',
  '...',
  '-',
  'javascript:alert(1)',
]

/** Directories: redirects, index pages, listings, links. */
export const directoryAudits: readonly GatewayAudit[] = [
  {
    id: 'directory.redirect',
    name: 'MUST redirect a directory to its path with a slash, query kept (path gateway, Location)',
    async run(context) {
      const dir = await context.world.addDirectory({ sub: { 'x.txt': '1' }, 'a:b c': { y: '2' } })
      const cases = [
        [`/ipfs/${dir}`, `/ipfs/${dir}/`],
        [`/ipfs/${dir}/sub`, `/ipfs/${dir}/sub/`],
        [`/ipfs/${dir}/sub?filename=x&a=%20`, `/ipfs/${dir}/sub/?filename=x&a=%20`],
        [`/ipfs/${dir}/a:b%20c`, `/ipfs/${dir}/a:b%20c/`],
      ] as const
      for (const [path, target] of cases) {
        const location = (await get(context, path, 301)).header('location') ?? ''
        const resolved = new URL(location, `http://gateway.test/mounted${path}`)
        assert.equal(resolved.pathname + resolved.search, `/mounted${target}`)
      }
    },
  },
  {
    id: 'directory.index',
    name: 'MUST serve index.html of a directory instead of a listing (path gateway, Response Payload)',
    async run(context) {
      const dir = await context.world.addDirectory({ 'index.html': '<h1>site', sub: { 'index.html': { 'a.txt': '' } } })
      const answer = await get(context, `/ipfs/${dir}/`, 200)
      assert.equal(answer.text, '<h1>site')
      assert.equal(answer.header('content-type'), 'text/html; charset=utf-8')
      assert.equal(answer.header('etag'), `"${dir}"`)
      assert.equal(answer.header('cache-control'), 'public, max-age=29030400, immutable')
      assert.equal((await get(context, `/ipfs/${dir}/`, 206, { range: 'bytes=1-2' })).text, 'h1')
      // A directory named index.html is not an index page.
      assert.match((await get(context, `/ipfs/${dir}/sub/`, 200)).text, /index\.html\//)
    },
  },
  {
    id: 'directory.listing',
    name: 'MUST list a directory with working links for any names (Response Payload)',
    async run(context) {
      const tree = Object.fromEntries(AWKWARD.map(name => [name, `content of ${name}`]))
      const dir = await context.world.addDirectory({ 'odd & <names>': { ...tree, folder: { x: '1' } } })
      const base = `/ipfs/${dir}/${encodeURIComponent('odd & <names>')}/`
      const answer = await get(context, base, 200, { accept: 'text/html' })
      assert.equal(answer.header('content-type'), 'text/html; charset=utf-8')
      assert.match(answer.header('etag') ?? '', /^"DirIndex-.*_CID-bafy/)
      assert.match(answer.header('content-security-policy') ?? '', /default-src 'none'/)
      assert.match(answer.header('cache-control') ?? '', /^public, max-age=604800/)
      assert.ok(!answer.text.includes('<b>'))
      const links = [...answer.text.matchAll(/<tr><td><svg.*?<\/svg><a href="([^"]+)">/g)].map(([, href]) => href ?? '')
      const found = new Set<string>()
      for (const link of links) {
        const url = new URL(unescapeHtml(link), `http://gateway.test${base}`)
        assert.equal(url.origin, 'http://gateway.test', link)
        const entry = await context.request('GET', url.pathname + url.search)
        assert.equal(entry.status, 200, link)
        found.add(entry.text)
      }
      for (const name of AWKWARD) assert.ok(found.has(`content of ${name}`), name)
      await assertSameHead(context, base)
    },
  },
  {
    id: 'directory.json',
    name: 'MUST list a directory as JSON if asked (path gateway, Accept)',
    async run(context) {
      const dir = await context.world.addDirectory({ b: 'two', a: { c: '' }, l: { link: 'b' } })
      for (const [path, headers] of [
        [`/ipfs/${dir}/`, { accept: 'application/json' }],
        [`/ipfs/${dir}`, { accept: 'application/json' }],
        [`/ipfs/${dir}?format=json`, { accept: 'text/html' }],
      ] as const) {
        const { entries, next } = JSON.parse((await get(context, path, 200, headers)).text)
        assert.deepEqual(entries.map(({ name, type, size }: Record<string, unknown>) => [name, type, size]).slice(1), [
          ['b', 'file', 3],
          ['l', 'symlink', 1],
        ])
        assert.equal(entries[0].type, 'directory')
        assert.equal(next, null)
      }
    },
  },
  {
    id: 'directory.sharded',
    name: 'MUST resolve and page through a sharded directory, each entry once (UnixFS)',
    async run(context) {
      const names = Array.from({ length: 6000 }, (_, index) => `entry number ${index}.txt`)
      const dir = await context.world.addDirectory(Object.fromEntries(names.map(name => [name, 'same'])))
      const seen: string[] = []
      let after: string | null = null
      do {
        const page: string = after === null ? '' : `&after=${encodeURIComponent(after)}`
        const { entries, next } = JSON.parse((await get(context, `/ipfs/${dir}/?format=json${page}`, 200)).text)
        seen.push(...entries.map(({ name }: { name: string }) => name))
        after = next
      } while (after !== null)
      assert.deepEqual(seen.toSorted(), names.toSorted())
      for (const name of ['entry number 0.txt', 'entry number 5999.txt', 'entry number 3217.txt']) {
        assert.equal((await get(context, `/ipfs/${dir}/${encodeURIComponent(name)}`, 200)).text, 'same')
      }
      await getError(context, `/ipfs/${dir}/entry%20number%206000.txt`, 404, 'NOT_FOUND')
      const html = (await get(context, `/ipfs/${dir}/`, 200)).text
      assert.match(html, /href="\?after=[^"]+" rel="next"/)
    },
  },
  {
    id: 'directory.roots',
    name: 'MUST send the path and the CID of every name on it (path gateway, X-Ipfs-Path, X-Ipfs-Roots)',
    async run(context) {
      const { world } = context
      const leaf = await world.addFile('leaf')
      const sub = await world.addDirectory({ 'ü.txt': 'leaf' })
      const dir = await world.addDirectory({ sub: { 'ü.txt': 'leaf' } })
      const answer = await get(context, `/ipfs/${dir}/sub/%C3%BC.txt`, 200)
      assert.equal(answer.header('x-ipfs-path'), `/ipfs/${dir}/sub/%C3%BC.txt`)
      assert.equal(answer.header('x-ipfs-roots'), `${dir},${sub},${leaf}`)
      const listing = await get(context, `/ipfs/${dir}/sub/`, 200)
      assert.equal(listing.header('x-ipfs-path'), `/ipfs/${dir}/sub/`)
      assert.equal(listing.header('x-ipfs-roots'), `${dir},${sub}`)
    },
  },
  {
    id: 'directory.links',
    name: 'MUST follow symbolic links within the root, and no further (UnixFS)',
    async run(context) {
      const dir = await context.world.addDirectory({
        'file.txt': 'target',
        to: { link: 'file.txt' },
        sub: { up: { link: '../file.txt' }, out: { link: '../../etc/passwd' }, dots: { link: './.././sub/up' } },
        folder: { link: 'sub' },
        absolute: { link: '/etc/passwd' },
        self: { link: 'self' },
        ping: { link: 'pong' },
        pong: { link: 'ping' },
        gone: { link: 'nowhere' },
      })
      for (const path of ['to', 'sub/up', 'sub/dots', 'folder/up', 'folder/dots']) {
        assert.equal((await get(context, `/ipfs/${dir}/${path}`, 200)).text, 'target', path)
      }
      for (const path of ['sub/out', 'absolute', 'self', 'ping', 'gone', 'to/more', 'folder/out']) {
        await getError(context, `/ipfs/${dir}/${path}`, 404, 'NOT_FOUND')
      }
      assert.match((await get(context, `/ipfs/${dir}/folder/`, 200)).text, /href="\.\/dots"/)
    },
  },
  {
    id: 'path.missing',
    name: 'MUST answer 404 to missing names, never a part of the path (404 Not Found)',
    async run(context) {
      const dir = await context.world.addDirectory({ a: { 'b.txt': 'x' } })
      for (const path of ['b', 'a/b', 'a/b.txt/c', 'a/B.TXT', 'a%2Fb.txt', '..', 'a/..%2fa', '%00']) {
        // Some clients normalise a path before they send it.
        const answer = await context.request('GET', `/ipfs/${dir}/${path}`)
        assert.ok([404, 301, 400].includes(answer.status), `${path}: ${answer.status}`)
        assert.notEqual(answer.status, 200, path)
      }
      assert.equal((await get(context, `/ipfs/${dir}//a///b.txt`, 200)).text, 'x')
    },
  },
]

function unescapeHtml(html: string): string {
  return html
    .replaceAll('&amp;', '&')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
}
