import assert from 'node:assert/strict'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import { type AuditContext, assertSameHead, type GatewayAudit, get } from './audit.ts'
import { KINDS } from './representations/kinds.ts'
import { AUDIT_HOST } from './world.ts'

const UTF8 = '; charset=utf-8'
const PAGE = '<!doctype html><title>x</title>'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489', 'hex')
const RUSSIAN = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2])
const FOREVER = 'public, max-age=29030400, immutable'
const A_WEEK = 'public, max-age=604800'

type Row = readonly [name: string, content: string | Uint8Array, type: string]

/** Files without a known ending, and files whose ending is known. */
const TYPES: readonly Row[] = [
  ['about', PAGE, `text/html${UTF8}`],
  ['README', '<html><body>x', `text/html${UTF8}`],
  ['feed', '\uFEFF\n<!-- saved -->\n<HTML>', 'text/html'],
  ['heading', '<h1>Title', `text/html${UTF8}`],
  ['bare', '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.0//EN">\nHello', `text/html${UTF8}`],
  ['index.php?id=5', PAGE, `text/html${UTF8}`],
  ['page.html?id=5', 'x', `text/html${UTF8}`],
  ['style.css?v=2.1', 'p{}', `text/css${UTF8}`],
  ['utf-16', Buffer.from(`\uFEFF${PAGE}`, 'utf16le'), 'text/html'],
  ['Makefile', 'all:\n\techo', `text/plain${UTF8}`],
  ['notes', '<!-- todo -->\n# Title', `text/plain${UTF8}`],
  ['less', '<3 you, <but> not a page', `text/plain${UTF8}`],
  ['open', `<!-- ${'-'.repeat(5000)} --><html>`, `text/plain${UTF8}`],
  ['script', 'alert(1)', `text/plain${UTF8}`],
  ['shebang', '#!/usr/bin/env node\nalert(1)', `text/plain${UTF8}`],
  ['letters', 'BM, GIF, MZ and the wide world', `text/plain${UTF8}`],
  ['wide', 'The wide world', `text/plain${UTF8}`],
  ['G', `G${'x'.repeat(187)}G${'x'.repeat(187)}G`, `text/plain${UTF8}`],
  ['latin', Buffer.from('gr\xfc\xdfe', 'latin1'), 'text/plain'],
  ['empty', '', `text/plain${UTF8}`],
  ['xml', '<?xml version="1.0"?><rss/>', 'application/xml'],
  ['xhtml', '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', 'application/xhtml+xml'],
  ['drawn', '<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a ">">]><svg/>', 'image/svg+xml'],
  ['paper', '%PDF-1.7\n1 0 obj', 'application/pdf'],
  ['marked', '\uFEFF%PDF-1.7\n1 0 obj', 'application/pdf'],
  ['cut.pdf', PAGE, 'application/pdf'],
  ['torrent', 'd8:announce20:http://tracker.x/ann4:infod6:lengthi5eee', 'application/x-bittorrent'],
  ['torrents', 'd13:announce-listll20:http://tracker.x/annee4:infod6:lengthi5eee', 'application/x-bittorrent'],
  ['announced', 'd8:announce the date', `text/plain${UTF8}`],
  ['scan', 'AT&TFORM\0\0\0\x40DJVUINFO', 'image/vnd.djvu'],
  ['sound', '.snd\0\0\0\x18', 'audio/basic'],
  ['light', '#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n', 'image/vnd.radiance'],
  ['steps', Buffer.from('\0\0\0\x0cJXS \r\n\x87\n', 'latin1'), 'image/jxs'],
  ['table', 'id,name\n1,first\n2,second\n', `text/plain${UTF8}`],
  ['map', '{"type":"FeatureCollection","features":[]}', 'application/json'],
  ['page.html', '%PDF-1.7', `text/html${UTF8}`],
  ['text.txt', PAGE, `text/plain${UTF8}`],
  ['photo', PNG, 'image/png'],
  ['site.car', 'x', 'application/vnd.ipld.car'],
  ['song.flac', 'fLaC', 'audio/flac'],
  ['person.vcf', 'BEGIN:VCARD', `text/vcard${UTF8}`],
  ...['php', 'asp', 'aspx', 'jsp', 'cgi', 'cfm', 'do', 'PHP'].flatMap((ending): Row[] => [
    [`page.${ending}`, PAGE, `text/html${UTF8}`],
    [`source.${ending}`, '<?php echo 1 ?><html>', `text/plain${UTF8}`],
    [`short.${ending}`, '<?= 1 ?><html>', `text/plain${UTF8}`],
    [`percent.${ending}`, '<%@ page %><html>', `text/plain${UTF8}`],
    [`feed.${ending}`, '<?xml version="1.0"?><rss/>', 'application/xml'],
    [`image.${ending}`, PNG, 'image/png'],
  ]),
]

const ascii = 'x'.repeat(4096)

/** Text with and without a charset in its type. */
const CHARSETS: readonly Row[] = [
  ['a.txt', 'grüße', `text/plain${UTF8}`],
  ['b.txt', '\uFEFFgrüße', 'text/plain'],
  ['c.txt', RUSSIAN, 'text/plain'],
  ['d.txt', ascii, `text/plain${UTF8}`],
  ['e.txt', Buffer.concat([Buffer.from(ascii), RUSSIAN]), `text/plain${UTF8}`],
  ['f.txt', Buffer.concat([Buffer.from(ascii.slice(1)), Buffer.from('ü')]), `text/plain${UTF8}`],
  ['g.txt', Buffer.concat([Buffer.from(ascii.slice(1)), RUSSIAN]), `text/plain${UTF8}`],
  ['h.txt', Buffer.from('\uFEFFx', 'utf16le'), 'text/plain'],
  ['i.txt', Buffer.from([0xfe, 0xff, 0, 0x78]), 'text/plain'],
  ['j.txt', Buffer.from('x\xc3', 'latin1'), 'text/plain'],
  ['k.txt', '\x1b$B4A\x1b(B', 'text/plain'],
  ['l.txt', '\x1b[31mred', `text/plain${UTF8}`],
  ['a.html', '<meta charset="windows-1251">', 'text/html'],
  ['b.html', '<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', 'text/html'],
  ['c.html', '<!-- <meta charset="koi8-r"> -->', `text/html${UTF8}`],
  ['d.html', '<meta charset="no-such">', `text/html${UTF8}`],
  ['e.html', `<p>${' '.repeat(1024)}<meta charset="koi8-r">`, `text/html${UTF8}`],
  ['f.html', '<meta charset="utf-8">', 'text/html'],
  ['g.html', RUSSIAN, 'text/html'],
  ['h.html', '\uFEFF<p>', 'text/html'],
  ['a.css', '@charset "koi8-r"; p{}', 'text/css'],
  ['b.css', 'p{} @charset "koi8-r";', `text/css${UTF8}`],
  ['a.js', 'let charset="koi8-r"', `text/javascript${UTF8}`],
  ['a.csv', RUSSIAN, 'text/csv'],
  ['a.json', RUSSIAN, 'application/json'],
]

/** Files, and whether version 0.3.0 sent another type for them. */
const CHANGES: ReadonlyArray<readonly [name: string, content: string | Uint8Array, isChanged: boolean]> = [
  ['notes', 'grüße', false],
  ['data', '{"a":1}', false],
  ['photo', PNG, false],
  ['archive', Buffer.from('PK\x03\x04'), false],
  ['blob', Buffer.from([0, 1, 2, 3]), false],
  ['drawing', '<svg/>', false],
  ['a.txt', 'grüße', false],
  ['a.html', '<p>', false],
  ['a.json', RUSSIAN, false],
  ['a.png', 'x', false],
  ['a.png?v=1', PNG, false],
  ['about', PAGE, true],
  ['xml', '<?xml version="1.0"?><rss/>', true],
  ['film', Buffer.from('\x00\x00\x00\x18ftyp3gp4'), true],
  ['latin', Buffer.from('gr\xfc\xdfe', 'latin1'), true],
  ['b.txt', RUSSIAN, true],
  ['b.html', '<meta charset="utf-8">', true],
  ['b.php', 'x', true],
  ['b.car', 'x', true],
  ['b.flac', 'fLaC', true],
  ['b.css?v=1', 'p{}', true],
]

/** Media types and their cache times. */
export const typeAudits: readonly GatewayAudit[] = [
  {
    id: 'type.kinds',
    name: 'MUST tell 41 kinds of files by their bytes',
    async run(context) {
      const files = KINDS.map(({ start }, index) => [`kind-${index}`, Buffer.from(start, 'base64')])
      const root = await context.world.addDirectory(Object.fromEntries(files))
      for (const [index, { kind, types }] of KINDS.entries()) {
        const type = await typeOf(context, `/ipfs/${root}/kind-${index}`)
        const right = types.flatMap(each => (each === 'text/html' ? [each, each + UTF8] : [each]))
        assert.ok(right.includes(type), `${kind}: ${type}`)
      }
    },
  },
  {
    id: 'type.ending',
    name: 'MUST tell a file without a known ending by its bytes, and never a script',
    run: context => assertTypes(context, TYPES),
  },
  {
    id: 'type.charset',
    name: 'MUST add a charset only to text that names no encoding and is UTF-8 so far',
    run: context => assertTypes(context, CHARSETS),
  },
  {
    id: 'type.change',
    name: 'MUST give a type that earlier versions did not send another ETag and a cache time of a week',
    async run(context) {
      const root = await context.world.addDirectory(Object.fromEntries(CHANGES))
      for (const [name, , isChanged] of CHANGES) {
        const path = pathOf(root, name)
        const answer = await get(context, path, 200)
        const plain = `"${answer.header('x-ipfs-roots')?.split(',')[1]}"`
        const etag = answer.header('etag') ?? ''
        assert.equal(etag === plain, !isChanged, `${name}: ${etag}`)
        assert.equal(answer.header('cache-control'), isChanged ? A_WEEK : FOREVER, name)
        await get(context, path, isChanged ? 200 : 304, { 'if-none-match': plain })
        const known = await get(context, path, 304, { 'if-none-match': etag })
        assert.equal(known.header('etag'), etag)
        assert.equal(known.header('cache-control'), answer.header('cache-control'))
      }
      const soon = await context.world.addFile(`${PAGE}soon`, context.world.clock.now() + 90_500)
      assert.match((await get(context, `/ipfs/${soon}`, 200)).header('cache-control') ?? '', /max-age=90\b/)
    },
  },
  {
    id: 'type.file-name',
    name: 'MUST prefer the ending of filename to that of the path and to the bytes',
    async run(context) {
      const root = await context.world.addDirectory({ page: PAGE, 'page.html': PAGE })
      for (const [path, type] of [
        ['page?filename=a.txt', `text/plain${UTF8}`],
        ['page.html?filename=a.json', 'application/json'],
        ['page.html?filename=about', `text/html${UTF8}`],
        ['page?filename=a.php', `text/html${UTF8}`],
        ['page?filename=', `text/html${UTF8}`],
      ]) {
        assert.equal(await typeOf(context, `/ipfs/${root}/${path}`), type, path)
      }
    },
  },
  {
    id: 'type.site',
    name: 'MUST tell rewritten pages, error pages and index pages by the same rules',
    async run(context) {
      const root = await context.world.addDirectory({
        about: PAGE,
        lost: '<html>lost',
        site: { 'index.html': '<meta charset="koi8-r">' },
        _redirects: '/old /about 200\n/* /lost 404\n',
      })
      const host = { host: `${root}.ipfs.${AUDIT_HOST}` }
      assert.equal((await get(context, '/old', 200, host)).header('content-type'), `text/html${UTF8}`)
      const missing = await get(context, '/nothing', 404, { ...host, 'if-match': '"other"', 'if-none-match': '*' })
      assert.equal(missing.header('content-type'), `text/html${UTF8}`)
      const index = await get(context, '/site/', 200, host)
      assert.equal(index.header('content-type'), 'text/html')
      assert.equal(index.header('etag'), `"${index.header('x-ipfs-roots')?.split(',')[1]}.v2"`)
    },
  },
  {
    id: 'type.identity',
    name: 'MUST NOT make a requested identity CID a page by its bytes',
    async run(context) {
      for (const [content, type] of [
        [PAGE, `text/plain${UTF8}`],
        ['<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>', `text/plain${UTF8}`],
        ['grüße', `text/plain${UTF8}`],
        ['{}', 'application/json'],
      ] as const) {
        const { cid } = identityBlock(CODEC.raw, Buffer.from(content))
        const answer = await get(context, `/ipfs/${cid}`, 200)
        assert.equal(answer.header('content-type'), type)
        assert.equal(answer.header('etag'), `"${cid}"`)
        assert.equal(answer.header('cache-control'), 'no-cache')
      }
      const { cid } = identityBlock(CODEC.raw, Buffer.from(PAGE))
      assert.equal(await typeOf(context, `/ipfs/${cid}?filename=a.html`), `text/html${UTF8}`)
    },
  },
]

async function assertTypes(context: AuditContext, rows: readonly Row[]): Promise<void> {
  const root = await context.world.addDirectory(Object.fromEntries(rows))
  for (const [name, content, type] of rows) {
    const path = pathOf(root, name)
    assert.equal(await typeOf(context, path), type, name)
    await assertSameHead(context, path)
    if (content.length < 2) continue
    for (const range of ['bytes=1-1', 'bytes=-1']) {
      const part = await get(context, path, 206, { range })
      assert.equal(part.header('content-type'), type, name)
      await assertSameHead(context, path, { range })
    }
    const parts = await get(context, path, 206, { range: 'bytes=0-0,-1' })
    assert.equal(parts.text.split(`Content-Type: ${type}\r\n`).length, 3, name)
  }
}

function pathOf(root: unknown, name: string): string {
  return `/ipfs/${root}/${encodeURIComponent(name)}`
}

async function typeOf(context: AuditContext, path: string): Promise<string> {
  const answer = await get(context, path, 200)
  assert.equal(answer.header('x-content-type-options'), 'nosniff')
  return answer.header('content-type') ?? ''
}
