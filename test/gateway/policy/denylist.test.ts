import { createHash } from 'node:crypto'
import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import { sha256 } from 'multiformats/hashes/sha2'
import { expect, test } from 'vitest'
import { Denylist } from '../../../src/gateway/policy/denylist.ts'

const cidOf = async (text: string, codec = 0x55): Promise<CID> =>
  CID.createV1(codec, await sha256.digest(Buffer.from(text)))
const a = await cidOf('a', 0x70)
const b = await cidOf('b', 0x70)
const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

test('a CID is blocked in every version and codec, without its paths', () => {
  const list = new Denylist(`# comment\n\n/ipfs/${a.toV0()}\n`)
  for (const cid of [a, a.toV0(), CID.createV1(0x55, a.multihash)]) expect(list.statusOf(cid)).toBe(410)
  expect(list.statusOf(a, ['x'])).toBeNull()
  expect(list.statusOf(b)).toBeNull()
})

test('paths and prefixes are percent-decoded', () => {
  const list = new Denylist(`/ipfs/${a}/one/t%20wo\n/ipfs/${a}/three/\n/ipfs/${a}/pre*\n/ipfs/${b}/*`)
  expect(list.statusOf(a, ['one', 't wo'])).toBe(410)
  expect(list.statusOf(a, ['one'])).toBeNull()
  expect(list.statusOf(a, ['one', 't wo', 'x'])).toBeNull()
  expect(list.statusOf(a, ['three'])).toBe(410)
  expect(list.statusOf(a, ['prefixed', 'x'])).toBe(410)
  expect(list.statusOf(a)).toBeNull()
  expect(list.statusOf(b)).toBe(410)
  expect(list.statusOf(b, ['any', 'thing'])).toBe(410)
})

test('the last matching rule decides', () => {
  const list = new Denylist(
    [`/ipfs/${a}/blocked*`, `!/ipfs/${a}/blockednot`, `!/ipfs/${a}/blocked/ok*`, `!/ipfs/${b}`, `/ipfs/${b}`].join(
      '\n',
    ),
  )
  expect(list.statusOf(a, ['blocked'])).toBe(410)
  expect(list.statusOf(a, ['blockednot'])).toBeNull()
  expect(list.statusOf(a, ['blocked', 'okay'])).toBeNull()
  expect(list.statusOf(b)).toBe(410)
})

test('double hashes match multihashes, paths and the old form', () => {
  const multihash = base58btc.encode(a.multihash.bytes).slice(1)
  const modern = (text: string): string =>
    base58btc.encode(Digest.create(0x12, Uint8Array.from(hash(text))).bytes).slice(1)
  const modernRules = `//${modern(multihash)}\n//${modern(`${multihash}/my/path`)}`
  const list = new Denylist(`${modernRules}\n//${hash(`${b}/`).toString('hex')}\n//${hash(`${b}/p`).toString('hex')}`)
  expect(list.statusOf(a.toV0())).toBe(410)
  expect(list.statusOf(a, ['my', 'path'])).toBe(410)
  expect(list.statusOf(a, ['my'])).toBeNull()
  expect(list.statusOf(b)).toBe(410)
  expect(list.statusOf(b.toV0(), ['p'])).toBe(410)
  expect(list.statusOf(CID.createV1(0x55, b.multihash))).toBeNull()
})

test('hints of the list and of a rule set the status', () => {
  const header = 'version: 1\nname: x\nhints:\n  other: 1\n  gateway_status: 451\n---\n'
  const list = new Denylist(`${header}/ipfs/${a}\n/ipfs/${b} why:because gateway_status:410`)
  expect(list.statusOf(a)).toBe(451)
  expect(list.statusOf(b)).toBe(410)
  expect(new Denylist(`/ipfs/${a} gateway_status:451`).statusOf(a)).toBe(451)
})

test('unreadable lines are listed by number and the others apply', () => {
  const list = new Denylist(`version: 1\n---\nnonsense\n/ipfs/${a}\n/ipfs/xyz\n//zz\n/ipns/example.org\n/ipfs/${b}/%zz`)
  expect(list.rejected).toEqual([3, 5, 6, 8])
  expect(list.statusOf(a)).toBe(410)
})

test('a list with a newer version is refused', () => {
  expect(() => new Denylist(`version: 2\n---\n/ipfs/${a}`)).toThrow(/version 2/)
})

test('ignores lifts, unless the list has its own', () => {
  const text = `/ipfs/${a}\n/ipfs/${b}\n# lifted /ipfs/${a}\n# lifted /ipfs/%zz\n`
  expect([a, b].map(cid => new Denylist(text).statusOf(cid))).toEqual([410, 410])
  expect([a, b].map(cid => new Denylist(text, { lifts: true }).statusOf(cid))).toEqual([null, 410])
})

test('a path rule holds for all names that Unicode calls equal', () => {
  const forms = ['dé/û ñ', 'de\u0301/u\u0302 n\u0303', 'dé/u\u0302 ñ', 'de\u0301/û n\u0303']
  for (const rule of forms) {
    const path = encodeURI(rule)
    const list = new Denylist(`/ipfs/${a}/${path}\n/ipfs/${a}/in/${path}/*\n/ipfs/${b}/*\n!/ipfs/${b}/${path}`)
    for (const form of forms) {
      const names = form.split('/')
      expect([rule, form, list.statusOf(a, names)]).toEqual([rule, form, 410])
      expect(list.statusOf(a, ['in', ...names, 'below'])).toBe(410)
      expect(list.statusOf(b, names)).toBeNull()
    }
    expect(list.statusOf(a, ['de', 'u n'])).toBeNull()
    expect(list.statusOf(b, ['de', 'u n'])).toBe(410)
  }
  const angstrom = new Denylist(`/ipfs/${a}/\u212b`)
  for (const name of ['\u212b', '\u00c5', 'A\u030a']) expect(angstrom.statusOf(a, [name])).toBe(410)
})

test('a prefix holds in both forms', () => {
  const list = new Denylist(`/ipfs/${a}/caf%C3%A9*\n/ipfs/${b}/cafe%CC%81*`)
  for (const cid of [a, b]) {
    for (const name of ['café.txt', 'cafe\u0301.txt']) expect(list.statusOf(cid, [name])).toBe(410)
    expect(list.statusOf(cid, ['cafe.txt'])).toBeNull()
  }
})

test('a double hash of one form holds for the other', () => {
  const multihash = base58btc.encode(a.multihash.bytes).slice(1)
  for (const form of ['NFC', 'NFD']) {
    const list = new Denylist(`//${hash(`${multihash}/é/ô`.normalize(form)).toString('hex')}`)
    for (const asked of ['NFC', 'NFD']) expect(list.statusOf(a, 'é/ô'.normalize(asked).split('/'))).toBe(410)
  }
})

test('a rule names bytes percent-encoded or as text form', () => {
  const legacy = createHash('sha256')
    .update(Buffer.concat([Buffer.from(`${b}/`), Buffer.of(0xe9)]))
    .digest('hex')
  const list = new Denylist(`/ipfs/${a}/caf%E9\n/ipfs/${a}/d\uefe9/*\n//${legacy}`)
  expect(list.rejected).toEqual([])
  expect(list.statusOf(a, ['caf\uefe9'])).toBe(410)
  expect(list.statusOf(a, ['d\uefe9', 'x'])).toBe(410)
  expect(list.statusOf(b, ['\uefe9'])).toBe(410)
  for (const name of ['caf\uefe8', 'café', 'caf\ufffd', 'caf%E9']) expect(list.statusOf(a, [name])).toBeNull()
  expect(list.statusOf(b, ['\uefe8'])).toBeNull()
})
