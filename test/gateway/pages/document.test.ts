import * as dagCbor from '@ipld/dag-cbor'
import * as dagJson from '@ipld/dag-json'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Document, findLink, tokensOf } from '../../../src/content/dag/document.ts'
import { linksOf } from '../../../src/content/dag/links.ts'
import { WalkBudget } from '../../../src/content/dag/ordered-walk.ts'
import { textOfUnicode } from '../../../src/domain/byte-text.ts'
import { documentText } from '../../../src/gateway/pages/document-text.ts'
import { CODEC } from '../../../src/ipld/cid.ts'
import { directClient } from '../client.ts'
import { GatewayWorld } from '../world.ts'

const LINK = CID.parse('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')
const CODECS = [dagCbor, dagJson]

const { value } = fc.letrec<{ value: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true, noInteger: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.uint8Array(),
      fc.constant(LINK),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
    ),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(
      fc.string({ unit: 'binary' }).filter(key => key !== '/' && key !== '__proto__'),
      tie('value'),
      { maxKeys: 5, noNullPrototype: true },
    ),
  ),
}))

function budget(): WalkBudget {
  return new WalkBudget(new AbortController().signal)
}

async function documentOf(code: number, bytes: Uint8Array): Promise<Document> {
  return { cid: CID.createV1(code, await sha256.digest(bytes)), bytes }
}

/** Lists the links of a value in byte order. */
function namesTo(found: unknown, path: string[] = []): Array<string[]> {
  if (CID.asCID(found) !== null) return path.length === 0 ? [] : [path]
  if (typeof found !== 'object' || found === null || found instanceof Uint8Array) return []
  return Object.entries(found).flatMap(([name, below]) => namesTo(below, [...path, name]))
}

describe.each(CODECS)('$name', ({ code, encode, decode }) => {
  test('any document is formatted as its value', () =>
    fc.assert(
      fc.asyncProperty(value, async content => {
        const bytes = encode(content)
        const { text, isWhole } = await documentText(await documentOf(code, bytes), budget())
        expect(isWhole).toBe(true)
        expect(dagJson.decode(Buffer.from(text))).toEqual(dagJson.decode(dagJson.encode(decode(bytes))))
      }),
      { numRuns: 300 },
    ))

  test('a path finds the link with its name', () =>
    fc.assert(
      fc.asyncProperty(value, async content => {
        const bytes = encode(content)
        const document = await documentOf(code, bytes)
        // Paths have the text forms of names. A NUL, for example, is marked.
        const paths = namesTo(decode(bytes)).map(names => names.map(textOfUnicode))
        for (const names of paths) {
          const found = await findLink(document, [...names, 'x'], budget())
          expect(found).toEqual({ cid: LINK, taken: names.length })
          const inside = findLink(document, names.slice(0, -1), budget())
          await expect(inside).rejects.toMatchObject({ code: 'NOT_IMPLEMENTED' })
          expect(await findLink(document, [...names.slice(0, -1), 'no such name'], budget())).toBe(null)
        }
        const root = CID.asCID(decode(bytes)) === null ? 0 : 1
        expect([...linksOf(document.cid, document.bytes)].length).toBe(paths.length + root)
      }),
      { numRuns: 300, examples: [[{ '\0': LINK }], [{ '\uEF2F': { a: LINK } }]] },
    ))

  test('bytes that are not a document are refused with INVALID_CID', () =>
    fc.assert(
      fc.asyncProperty(
        value,
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }))),
        fc.nat(),
        async (content, changes, cut) => {
          const bytes = Uint8Array.from(encode(content))
          for (const [at, byte] of changes) bytes[at % bytes.length] = byte
          const document = await documentOf(code, bytes.subarray(0, cut % (bytes.length + 1)))
          let failure: unknown = null
          try {
            for await (const _ of tokensOf(document, budget()));
          } catch (error) {
            failure = error
          }
          if (failure !== null) expect(failure).toMatchObject({ code: 'INVALID_CID' })
          if (failure !== null) return
          // Every accepted document is also valid for the reference implementation.
          const { text } = await documentText(document, budget())
          expect(() => JSON.parse(text.replaceAll(/\b(NaN|-?Infinity)\b/g, '0'))).not.toThrow()
        },
      ),
      { numRuns: 300 },
    ))
})

describe('served', () => {
  let world: GatewayWorld

  beforeEach(async () => {
    world = await GatewayWorld.open()
  })

  afterEach(() => world.close())

  async function add(code: number, bytes: Uint8Array): Promise<CID> {
    const { cid } = await documentOf(code, bytes)
    return world.addBlocks([[cid, bytes]])
  }

  test('documents of 50,000 levels are served in every format', async () => {
    const DEPTH = 50_000
    const json = Buffer.from(`${'{"a":'.repeat(DEPTH)}{"/":"${LINK}"}${'}'.repeat(DEPTH)}`)
    const link = dagCbor.encode(LINK)
    const cbor = Buffer.concat([Buffer.alloc(DEPTH, 0x81), link])
    const { request } = directClient(world.gateway())
    for (const root of [await add(CODEC.dagJson, json), await add(CODEC.dagCbor, cbor)]) {
      const page = await request('GET', `/ipfs/${root}`, { accept: 'text/html' })
      expect(page.status).toBe(200)
      expect(page.text).toMatch(/This page omits the rest of the document/)
      expect(page.body.length).toBeLessThan(2 * 1024 ** 2)
      const plain = await request('GET', `/ipfs/${root}`)
      expect(plain.status).toBe(200)
      expect(plain.isBroken).toBe(false)
      expect((await request('GET', `/ipfs/${root}/a/0/b`)).status).toBe(404)
      // The link's target is missing, so the error shows that the link was found.
      expect((await request('GET', `/ipfs/${root}?format=car`)).isBroken).toBe(true)
    }
  })

  test('the page of a large document is truncated', async () => {
    const { request } = directClient(world.gateway())
    const large = await add(
      CODEC.dagCbor,
      dagCbor.encode({ list: Array.from({ length: 200_000 }, () => 0), end: 'END' }),
    )
    const page = await request('GET', `/ipfs/${large}`, { accept: 'text/html' })
    expect(page.body.length).toBeLessThan(512 * 1024)
    expect(page.text).toMatch(/omits the rest/)
    const text = await add(CODEC.dagJson, dagJson.encode({ long: 'x'.repeat(1_000_000) }))
    expect((await request('GET', `/ipfs/${text}`, { accept: 'text/html' })).body.length).toBeLessThan(512 * 1024)
    const small = await add(CODEC.dagJson, dagJson.encode({ a: [1, LINK, '<b>'], b: new Uint8Array([1]) }))
    const whole = (await request('GET', `/ipfs/${small}`, { accept: 'text/html' })).text
    expect(whole).toContain('&lt;b&gt;')
    expect(whole).toContain(`{ &quot;/&quot;: &quot;${LINK}&quot; }`)
    expect(whole).not.toMatch(/omits the rest/)
  })

  test('a document over the depth limit is refused', async () => {
    const root = await add(CODEC.dagCbor, Buffer.concat([Buffer.alloc(100_001, 0x81), Buffer.from([0])]))
    const { request } = directClient(world.gateway())
    expect((await request('GET', `/ipfs/${root}`)).status).toBe(400)
    expect((await request('GET', `/ipfs/${root}?format=raw`)).status).toBe(200)
  })
})
