import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import { parseAst } from 'vite'
import { describe, expect, test } from 'vitest'
import { readCar } from '../src/content/car/car-reader.ts'
import { findLink } from '../src/content/dag/document.ts'
import { linksOf } from '../src/content/dag/links.ts'
import { WalkBudget } from '../src/content/dag/ordered-walk.ts'
import { parseContentPath, parseIsolatedPath } from '../src/gateway/http/content-path.ts'
import { documentText } from '../src/gateway/pages/document-text.ts'
import { Denylist } from '../src/gateway/policy/denylist.ts'
import { labelOf } from '../src/gateway/site/subdomain.ts'
import { CODEC, cidOfBytes, firstCid, parseCid } from '../src/ipld/cid.ts'
import { varintBytes } from '../src/ipld/varint.ts'
import { peerAddress } from '../src/network/addresses.ts'
import { sectionOf, streamOf } from './content/car/support/cars.ts'
import { blockOf, identityBlock } from './pins/fetches/support/dags.ts'
import { superlinear } from './support/regex-linearity.ts'

const ROOT = join(import.meta.dirname, '..')

/** Expressions that look superlinear, by file, with the reason why no untrusted text reaches them. */
const ALLOWED: Readonly<Record<string, readonly [expression: string, reason: string][]>> = {
  'src/gateway/policy/denylist.ts': [
    [
      '^hints:[^\\n]*\\n((?:[ \\t]+[^\\n]*(?:\\n|$))*)',
      "the header of the operator's own file, of limited length, and it cannot fail",
    ],
  ],
  'adapters/node-http/node-handler.ts': [['\\/+$', 'a prefix that the embedding program passes']],
  'adapters/fastify/plugin.ts': [['\\/+$', 'a prefix that the embedding program passes']],
  'adapters/cli/api-settings.ts': [['\\/+$', 'a URL that the user of the command types']],
}

interface Found {
  file: string
  source: string
  flags: string
}

/** Every regular expression in the sources: literals, dynamic ones, and patterns of schemas. */
const expressions: Found[] = ['src', 'adapters'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .flatMap(name => expressionsIn(`${folder}/${name.replaceAll('\\', '/')}`)),
)

function expressionsIn(file: string): Found[] {
  const found: Found[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item)
    else if (typeof value === 'object' && value !== null) {
      const node = value as Record<string, unknown>
      const { regex } = node as { regex?: { pattern: string; flags: string } }
      if (regex !== undefined && typeof regex.pattern === 'string') {
        found.push({ file, source: regex.pattern, flags: regex.flags })
      }
      if (node.type === 'NewExpression' && (node.callee as { name?: string }).name === 'RegExp') {
        found.push({ file, source: '(dynamic)', flags: '' })
      }
      const { key, value: text } = node as { key?: { name?: string }; value?: { value?: unknown } }
      if (node.type === 'Property' && key?.name === 'pattern' && typeof text?.value === 'string') {
        found.push({ file, source: text.value, flags: 'u' })
      }
      for (const child of Object.values(node)) visit(child)
    }
  }
  visit(parseAst(readFileSync(join(ROOT, file), 'utf8'), { lang: 'ts' }))
  return found
}

describe('regular expressions', () => {
  test('occur in the sources', () => {
    expect(expressions.length).toBeGreaterThan(50)
  })

  test('take linear time for any input', () => {
    const wrong = expressions.flatMap(({ file, source, flags }) => {
      if (ALLOWED[file]?.some(([expression]) => expression === source)) return []
      return superlinear(source, flags).map(problem => `${file} /${source}/${flags}: ${problem}`)
    })
    expect(wrong).toEqual([])
  })

  test('have no exception that is no longer needed', () => {
    const stale = Object.entries(ALLOWED).flatMap(([file, allowed]) =>
      allowed.filter(([expression]) => !expressions.some(found => found.file === file && found.source === expression)),
    )
    expect(stale).toEqual([])
  })
})

describe('the check', () => {
  test.each([
    ['(a+)+$', ''],
    ['^(?:\\\\["\\\\]|[^"])*"', ''],
    ['\\/+$', ''],
    ['^\\s*Bearer\\s+(\\S.*?)\\s*$', 'i'],
    ['^\\s*\\s*x', ''],
    ['^(a|ab)*$', ''],
    ['^[a-z]+[a-z0-9]*$', ''],
    ['\\d+x', ''],
    ['^a{1,200}a{1,200}b', ''],
    ['^a*b?a*c', ''],
    ['^.*x.*$', ''],
    ['^\\d*x', 'm'],
  ])('rejects /%s/%s', (source, flags) => {
    expect(superlinear(source, flags)).not.toEqual([])
  })

  test.each([
    ['^[^:]+:\\d+$', ''],
    ['[^a-z0-9]+', 'g'],
    ['^\\s*form-data\\s*(?=;|$)', 'i'],
    ['^\\d{1,9}$', ''],
    ['^https?:$', ''],
    ['"[^"]*"', 'g'],
    ['^(?:a|b)*$', ''],
  ])('accepts /%s/%s', (source, flags) => {
    expect(superlinear(source, flags)).toEqual([])
  })
})

/** Length of a text that would take hours in quadratic time. */
const LARGE = 2 * 1024 ** 2

/** A version 0 CID with a long digest, whose text would be base58. */
const longVersion0 = Buffer.concat([Uint8Array.from([0x12, 0x80, 0x80, 0x80, 0x01]), Buffer.alloc(LARGE, 0xff)])
const longIdentity = identityBlock(CODEC.raw, Buffer.alloc(16_000, 0xff)).cid
const inCbor = (link: Uint8Array): Uint8Array => {
  const head = Buffer.alloc(7)
  head.set([0xd8, 42, 0x5a])
  head.writeUInt32BE(link.length + 1, 3)
  return Buffer.concat([head, Buffer.alloc(1), link])
}
const inHeader = (link: Uint8Array): Buffer =>
  sectionOf(Buffer.from('a265726f6f747381', 'hex'), inCbor(link), Buffer.from('6776657273696f6e01', 'hex'))
const inPb = (link: Uint8Array): Uint8Array => {
  const inner = Buffer.concat([Uint8Array.from([0x0a]), varintBytes(link.length), link])
  return Buffer.concat([Uint8Array.from([0x12]), varintBytes(inner.length), inner])
}
const linksIn = (codec: number, bytes: Uint8Array): CID[] => [...linksOf(blockOf(codec, bytes).cid, bytes)]
const doubleHashed = new Denylist(`//${'0'.repeat(64)}\n`)

/** Every decoder of untrusted CIDs, hashes, peer ids and addresses, by its input. */
const DECODERS: ReadonlyArray<[name: string, decode: (digits: string) => unknown]> = [
  ['a CID in base58', digits => parseCid(`z${digits}`)],
  ['a CID in base36', digits => parseCid(`k${digits.toLowerCase()}`)],
  ['a CID in base 10', () => parseCid(`9${'1'.repeat(LARGE)}`)],
  ['a CID in base32', () => parseCid(`b${'a'.repeat(LARGE)}`)],
  ['a CID of version 0', digits => parseCid(`Qm${digits}`)],
  ['bytes of a CID', () => `${cidOfBytes(longVersion0)}`],
  ['a CID before a block', () => `${firstCid(longVersion0)[0]}`],
  ['a root of a CAR', () => readCar(streamOf(inHeader(longVersion0.subarray(0, 200_000))))],
  ['a root of a CAR, in short form', () => readCar(streamOf(inHeader(longVersion0.subarray(0, 5_000))))],
  ['a link in DAG-JSON, base58', digits => linksIn(CODEC.dagJson, Buffer.from(`[{"/":"z${digits}"}]`))],
  ['a link in DAG-JSON, base36', digits => linksIn(CODEC.dagJson, Buffer.from(`[{"/":"k${digits.toLowerCase()}"}]`))],
  ['a link in DAG-CBOR', () => linksIn(CODEC.dagCbor, inCbor(longVersion0)).toString()],
  ['a link in DAG-PB', () => linksIn(CODEC.dagPb, inPb(longVersion0)).toString()],
  ['a path of the gateway', digits => parseContentPath(`/ipfs/z${digits}/a`)],
  ['a host name of the gateway', digits => parseIsolatedPath(`k${digits.toLowerCase()}`, '/', 'gateway.test')],
  ['a host name for a long CID', () => labelOf(longIdentity)],
  ['a multiaddr', digits => peerAddress(`/dns4/peer.test/tcp/1/p2p/z${digits}`)],
  ['the id of a peer', digits => peerAddress(`/p2p/${digits}`)],
]

describe('decoders', () => {
  test.each(DECODERS)('refuse %s of 2 MiB before decoding it', async (_, decode) => {
    const digits = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'.repeat(LARGE / 32)
    await expect((async () => decode(digits))()).rejects.toThrow()
  })

  test('denylists reject lines of 2 MiB and find long CIDs quickly', () => {
    const digits = '2'.repeat(LARGE - 20)
    const list = new Denylist([`//${digits}`, `/ipfs/z${digits}`, `/ipfs/k${digits}`, `!//${digits}`].join('\n'))
    expect(list.rejected).toEqual([1, 2, 3, 4])
    for (let times = 0; times < 20; times++) expect(doubleHashed.statusOf(longIdentity)).toBe(null)
  })

  test('documents with a link of 2 MiB show it as null', async () => {
    const bytes = Buffer.from(`{"a":{"/":"z${'2'.repeat(LARGE)}"},"b":1}`)
    const document = { cid: blockOf(CODEC.dagJson, bytes).cid, bytes }
    const budget = new WalkBudget(new AbortController().signal)
    expect((await documentText(document, budget)).text).toBe('{\n  "a": { "/": null },\n  "b": 1\n}')
    await expect(findLink(document, ['a'], budget)).rejects.toMatchObject({ code: 'INVALID_CID' })
  })
})
