import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import type { CID } from 'multiformats/cid'
import { readTar } from '../../adapters/cli/tar-reader.ts'
import { isFileName, textOfBytes, textOfUri } from '../../src/domain/byte-text.ts'
import { type Block, type ByteLink, byteDirectory, byteShards, latin, utf8 } from '../support/byte-dags.ts'
import { type AuditContext, type GatewayAudit, get, getError } from './audit.ts'
import { AUDIT_HOST, rawBlock } from './world.ts'

/** Names that lossy decoders fold together, or take for something else. */
const NAMES = [
  ...[
    'caf\xe9',
    'caf\xe8',
    'caf\xc3',
    '\xff',
    '\xed\xa0\x80',
    '\xc0\xaf',
    '\xef\xbf',
    '100%\xe9',
    '\x01\x7f',
    '\xe9.txt',
  ].map(latin),
  ...[
    'café',
    'cafe\u0301',
    '\ufffd',
    '\ufeffa',
    'a',
    '\uefe9',
    '\uef00',
    '\u{10ffff}',
    '%E9',
    '\\xE9',
    'a b?#%',
    '<&"\'>',
  ].map(utf8),
]
/** Names that no file can have. */
const UNUSABLE = ['', '.', '..', 'a/b', '\0', 'x\0'].map(utf8)

interface Folder {
  cid: CID
  /** Content of each entry, by the text form of its name. */
  contents: Map<string, string>
}

async function pinned({ world }: AuditContext, names: readonly Uint8Array[], isSharded: boolean): Promise<Folder> {
  const contents = new Map<string, string>()
  const links: ByteLink[] = []
  for (const name of names) {
    const content = `content of ${Buffer.from(name).toString('hex')}`
    const file = await rawBlock(Buffer.from(content))
    await world.addBlocks([file])
    links.push({ name, cid: file[0] })
    contents.set(textOfBytes(name), content)
  }
  const blocks: Block[] = isSharded ? await byteShards(links) : [await byteDirectory(links)]
  const files = await Promise.all([...contents.values()].map(content => rawBlock(Buffer.from(content))))
  return { cid: await world.addBlocks([...files, ...blocks]), contents }
}

function escaped(name: Uint8Array): string {
  return [...name].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

async function listed(context: AuditContext, path: string): Promise<{ name: string; cid: string }[]> {
  return JSON.parse((await get(context, `${path}?format=json`, 200)).text).entries
}

/** Names in folders are bytes. */
export const nameAudits: readonly GatewayAudit[] = [false, true].map(isSharded => ({
  id: `names.${isSharded ? 'sharded' : 'plain'}`,
  name: `MUST reach, list and archive each entry of a ${isSharded ? 'sharded' : 'plain'} directory by the bytes of its name (UnixFS, PBLink.Name)`,
  async run(context: AuditContext) {
    const { cid, contents } = await pinned(context, NAMES, isSharded)
    assert.equal(contents.size, NAMES.length)
    for (const name of NAMES) {
      const answer = await get(context, `/ipfs/${cid}/${escaped(name)}`, 200)
      assert.equal(answer.text, contents.get(textOfBytes(name)))
      assert.equal(textOfUri((answer.header('x-ipfs-path') ?? '').slice(`/ipfs/${cid}/`.length)), textOfBytes(name))
      const own = { host: `${cid}.ipfs.${AUDIT_HOST}` }
      assert.equal((await get(context, `/${escaped(name)}`, 200, own)).text, answer.text)
    }
    const entries = await listed(context, `/ipfs/${cid}/`)
    assert.deepEqual(new Set(entries.map(({ name }) => name)), new Set(contents.keys()))
    assert.equal(entries.length, NAMES.length)
    const page = (await get(context, `/ipfs/${cid}/`, 200)).text
    const links = [...page.matchAll(/<a href="\.\/([^"?]+)">/g)].map(([, link = '']) => link)
    assert.equal(new Set(links).size, NAMES.length)
    for (const link of links) {
      const text = textOfUri(link.replaceAll('&#39;', "'"))
      assert.equal((await get(context, `/ipfs/${cid}/${link.replaceAll('&#39;', "'")}`, 200)).text, contents.get(text))
    }
    const archive = (await get(context, `/ipfs/${cid}?format=tar`, 200)).body
    const unpacked = new Map<string, string>()
    for await (const { path, kind, bytes } of readTar(pieces(archive))) {
      if (kind === 'file') unpacked.set(path.slice(`${cid}/`.length), (await buffer(bytes)).toString())
    }
    assert.deepEqual(unpacked, contents)
  },
}))

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

export const moreNameAudits: readonly GatewayAudit[] = [
  {
    id: 'names.below',
    name: 'MUST serve all below a folder whose name is no UTF-8 (UnixFS, PBLink.Name)',
    async run(context) {
      const file = await rawBlock(Buffer.from('inside'))
      const inner = await byteDirectory([{ name: latin('\xe8'), cid: file[0] }])
      const top = await byteDirectory([{ name: latin('d\xe9'), cid: inner[0] }])
      const cid = await context.world.addBlocks([file, inner, top])
      assert.equal((await get(context, `/ipfs/${cid}/d%E9/%e8`, 200)).text, 'inside')
      assert.equal((await get(context, `/ipfs/${cid}/d%e9`, 301)).header('location'), './d%e9/')
      assert.match((await get(context, `/ipfs/${cid}/d%e9/`, 200)).text, /<title>d%E9<.*<a href="\.\/%E8">%E8<\/a>/s)
      assert.deepEqual(
        (await listed(context, `/ipfs/${cid}/d%e9/`)).map(({ name }) => name),
        ['\uefe8'],
      )
      const found: string[] = []
      for await (const { path } of readTar(pieces((await get(context, `/ipfs/${cid}/d%e9?format=tar`, 200)).body)))
        found.push(path)
      assert.deepEqual(found, ['d\uefe9/', 'd\uefe9/\uefe8'])
      await getError(context, `/ipfs/${cid}/d%ea/`, 404, 'NOT_FOUND')
      await get(context, `/ipfs/${cid}/d%e9?format=car`, 200)
    },
  },
  {
    id: 'names.unusable',
    name: 'MUST list names that no file can have, without a link, and name them in the error of an archive (UnixFS, PBLink.Name)',
    async run(context) {
      for (const name of UNUSABLE) {
        const { cid } = await pinned(context, [utf8('good'), name], false)
        const text = textOfBytes(name)
        assert.ok(!isFileName(text))
        assert.deepEqual(
          new Set((await listed(context, `/ipfs/${cid}/`)).map(entry => entry.name)),
          new Set(['good', text]),
        )
        const page = (await get(context, `/ipfs/${cid}/`, 200)).text
        assert.deepEqual(
          [...page.matchAll(/<a href="\.\/([^"?]*)/g)].map(([, link]) => link),
          ['good'],
        )
        const shown = JSON.stringify(text.replaceAll('\uef00', '%00'))
        const { message } = JSON.parse((await getError(context, `/ipfs/${cid}?format=tar`, 400, 'INVALID_CID')).text)
        assert.ok(message.includes(`its entry ${shown} has a name that cannot be unpacked`), message)
      }
    },
  },
  {
    id: 'names.forms',
    name: 'MUST look a missing path up by its NFC and its NFD form, but not for raw, CAR and TAR (Unicode, UAX 15)',
    async run(context) {
      const [composed, decomposed] = ['dé/ô', 'dé/ô'.normalize('NFD')].map(encodeURI)
      for (const [stored, asked] of [
        [composed, decomposed],
        [decomposed, composed],
      ]) {
        const [folder = '', name = ''] = decodeURI(stored ?? '').split('/')
        const cid = await context.world.addDirectory({
          [folder]: { [name]: `by ${stored}` },
          _redirects: '/* /r 200',
          r: 'r',
        })
        for (const path of [stored, asked]) {
          const answer = await get(context, `/ipfs/${cid}/${path}`, 200)
          assert.equal(answer.text, `by ${stored}`)
          assert.equal(answer.header('x-ipfs-path'), `/ipfs/${cid}/${stored}`)
          assert.equal(
            (await get(context, `/${path}`, 200, { host: `${cid}.ipfs.${AUDIT_HOST}` })).text,
            `by ${stored}`,
          )
        }
        for (const format of ['raw', 'car', 'tar'])
          await getError(context, `/ipfs/${cid}/${asked}?format=${format}`, 404, 'NOT_FOUND')
      }
      const both = await context.world.addDirectory({ é: 'composed', ['é'.normalize('NFD')]: 'decomposed' })
      assert.equal((await get(context, `/ipfs/${both}/%C3%A9`, 200)).text, 'composed')
      assert.equal((await get(context, `/ipfs/${both}/e%CC%81`, 200)).text, 'decomposed')
      await getError(context, `/ipfs/${both}/%C3%A8`, 404, 'NOT_FOUND')
    },
  },
]
