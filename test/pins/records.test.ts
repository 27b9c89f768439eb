import { base58btc } from 'multiformats/bases/base58'
import { CID } from 'multiformats/cid'
import { describe, expect, test } from 'vitest'
import type { DirectoryEntry, PinOutcome, UploadOptions } from '../../src/index.ts'
import { pseudoRandom, sha256Hex } from '../support/bytes.ts'
import { readBlock, readFile, readTree, viaGateway } from '../support/read-back.ts'
import { EMPTY, storeSizes } from '../support/store-inspection.ts'
import { type TestEngine, withEngine } from '../support/test-engine.ts'

const CONTENT = pseudoRandom(50_000, 'records')

function upload(
  { engine, account }: TestEngine,
  options: Partial<UploadOptions> = {},
  content: Uint8Array = CONTENT,
): Promise<PinOutcome> {
  return engine.pins.upload(content, { account, ...options })
}

async function* tree(files: Record<string, Uint8Array>): AsyncGenerator<DirectoryEntry> {
  for (const [path, content] of Object.entries(files)) yield { kind: 'file', path, content }
}

const in5Minutes = '2030-01-01T00:05:00Z'
const in6Minutes = '2030-01-01T00:06:00.000Z'

describe('records', () => {
  test('an identical request returns the same record in any spelling', async () => {
    await withEngine(async test => {
      const first = await upload(test, { timelock: in5Minutes, name: 'n' })
      expect(first.created).toBe(true)
      test.clock.advance(1_000)
      const again = await upload(test, { timelock: '2030-01-01T01:05:00+01:00', name: 'n', cluster: ' cl0-global ' })
      expect(again).toEqual({ record: first.record, created: false })
      expect((await test.engine.pins.list({ account: test.account })).total).toBe(1)
      await test.engine.collect({ graceSeconds: 0 })
      expect((await storeSizes(test.dataDir)).roots).toBe(1)
    })
  })

  test.each<[string, Partial<UploadOptions>]>([
    ['another expiry', { timelock: in6Minutes, name: 'n' }],
    ['no expiry', { name: 'n' }],
    ['another cluster', { timelock: in5Minutes, name: 'n', cluster: 'cl1-eu' }],
    ['another name', { timelock: in5Minutes, name: 'm' }],
    ['a custom name', { timelock: in5Minutes, name: 'n', customName: 'n' }],
  ])('%s makes a second record, and the first stays as it was', async (_, options) => {
    await withEngine(async test => {
      const { record: first } = await upload(test, { timelock: in5Minutes, name: 'n' })
      const second = await upload(test, options)
      expect(second.created).toBe(true)
      const { items, total } = await test.engine.pins.list({ account: test.account })
      expect(total).toBe(2)
      expect(items.find(item => item.uploadId === first.uploadId)).toMatchObject(first)
      expect((await test.engine.pins.usage(test.account)).storedBytes).toBe(Math.max(first.dagSize, 512))
    })
  })

  test('concurrent identical uploads make one record', async () => {
    await withEngine(async test => {
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => upload(test)))
      expect(outcomes.filter(outcome => outcome.created)).toHaveLength(1)
      expect(new Set(outcomes.map(outcome => outcome.record.uploadId)).size).toBe(1)
      expect((await test.engine.pins.list({ account: test.account })).total).toBe(1)
      await test.engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual({
        ...EMPTY,
        roots: 1,
        blocks: 1,
        root_blocks: 1,
        records: 1,
        blockFiles: 1,
      })
    })
  })

  test('chosen names are checked, file names are cut to fit', async () => {
    await withEngine(async test => {
      const { record } = await upload(test, { name: ' a.txt ', originalName: ' b ', customName: '  ' })
      expect(record).toMatchObject({ name: 'b', originalName: 'b', customName: null })
      expect((await upload(test, { customName: 'x'.repeat(255), originalName: 'b' })).record.name).toBe('x'.repeat(255))
      expect((await upload(test, { name: `tab\there${'y'.repeat(300)}` })).record.name).toBe(
        `tab here${'y'.repeat(247)}`,
      )
      for (const wrong of ['x'.repeat(256), 'a\0b', 'a\nb', 'a\u0085b']) {
        const message = expect.stringContaining('customName')
        await expect(upload(test, { customName: wrong })).rejects.toMatchObject({ code: 'VALIDATION', message })
      }
    })
  })

  test('a name of 255 code points is kept and found', async () => {
    await withEngine(async test => {
      const name = '😀'.repeat(255)
      expect((await upload(test, { customName: name })).record.name).toBe(name)
      expect((await test.engine.pins.list({ account: test.account, name })).total).toBe(1)
      for (const long of [`${name}x`, 'x'.repeat(1_000)]) {
        await expect(upload(test, { customName: long })).rejects.toMatchObject({ code: 'VALIDATION' })
        await expect(test.engine.pins.list({ account: test.account, name: long })).rejects.toMatchObject({
          code: 'VALIDATION',
        })
      }
    })
  })

  test('a name that is cut is answered as stored', async () => {
    await withEngine(async test => {
      const { record } = await upload(test, { name: `${'x'.repeat(254)}\u{1F600}` })
      const [listed] = (await test.engine.pins.list({ account: test.account })).items
      expect(listed?.name).toBe(record.name)
      expect(record.name).toBe(record.name?.toWellFormed())
    })
  })

  test('late fields override request options, unless they are missing', async () => {
    await withEngine(async test => {
      const late = async () => ({ cluster: 'cl1-eu', timelock: undefined, name: undefined })
      const { record } = await upload(test, { cluster: 'cl2-de', timelock: in5Minutes, name: 'early', late })
      expect(record).toMatchObject({ clusterId: 'cl1-eu', name: 'early', expiresAt: Date.parse(in5Minutes) })
    })
  })

  test('a removal covers all clusters, or only the one named', async () => {
    await withEngine(async test => {
      const { account, engine } = test
      const { record } = await upload(test)
      const { cid } = record
      await upload(test, { cluster: 'cl1-eu' })
      await upload(test, { cluster: 'cl1-eu', name: 'second' })
      await expect(engine.pins.remove({ account, cid, cluster: 'cl2-de' })).rejects.toMatchObject({
        code: 'PIN_NOT_FOUND',
      })
      const removed = await engine.pins.remove({ account, cid, cluster: 'cl1-eu' })
      expect(removed.map(({ clusterId }) => clusterId)).toEqual(['cl1-eu', 'cl1-eu'])
      expect((await engine.pins.list({ account })).items).toMatchObject([{ uploadId: record.uploadId }])
      await engine.collect({ graceSeconds: 0 })
      expect((await viaGateway(engine, `/ipfs/${cid}`)).bytes.equals(CONTENT)).toBe(true)
      await upload(test, { cluster: 'cl1-eu' })
      expect(await engine.pins.remove({ account, cid })).toHaveLength(2)
      expect(await engine.pins.usage(account)).toEqual({ pins: 0, storedBytes: 0, keptBytes: 0 })
      await expect(engine.pins.remove({ account, cid })).rejects.toMatchObject({ code: 'PIN_NOT_FOUND' })
      expect((await viaGateway(engine, `/ipfs/${cid}`)).status).toBe(404)
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('a pin of another account looks like a missing one', async () => {
    await withEngine(async test => {
      const { engine } = test
      const { cid } = (await upload(test)).record
      const stranger = await test.newAccount()
      const refusal = (wanted: string) =>
        engine.pins.remove({ account: stranger, cid: wanted }).catch((error: Error) => error)
      const nobodys = CID.parse(cid).toString().replace(/.$/, '4')
      const answers = await Promise.all([refusal(cid), refusal(nobodys), refusal('not a cid'), refusal('')])
      for (const answer of answers) {
        expect(answer).toMatchObject({ code: 'PIN_NOT_FOUND', message: 'no pin for this cid: see the list of pins' })
      }
      expect(await engine.pins.list({ account: stranger })).toMatchObject({ items: [], total: 0 })
      expect(await engine.pins.list({ account: stranger, parentCid: cid })).toMatchObject({ items: [], total: 0 })
      expect((await engine.pins.list({ account: test.account })).total).toBe(1)
    })
  })

  test('content stays while another account needs it', async () => {
    await withEngine(async test => {
      const other = await test.newAccount()
      const { cid } = (await upload(test)).record
      await upload({ ...test, account: other })
      await test.engine.pins.remove({ account: test.account, cid })
      await test.engine.collect({ graceSeconds: 0 })
      expect(sha256Hex(await readFile(await test.engine.clusters.backendOf(), cid))).toBe(sha256Hex(CONTENT))
      expect((await test.engine.pins.usage(other)).pins).toBe(1)
    })
  })

  test('CID versions 0 and 1 are one content, echoed as sent', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const { record } = await engine.pins.uploadDirectory(tree({ a: CONTENT }), { account })
      const version0 = CID.createV0(CID.parse(record.cid).multihash as Parameters<typeof CID.createV0>[0]).toString()
      expect(version0).toMatch(/^Qm/)
      const other = await test.newAccount()
      const pinned = await engine.pins.pin({ account: other, cid: ` ${version0} ` })
      expect(pinned).toMatchObject({ created: true, record: { cid: version0, type: 'pin', status: 'pinned' } })
      expect(pinned.record).toMatchObject({ size: record.size, dagSize: record.dagSize })
      const based = CID.parse(record.cid).toString(base58btc)
      expect(await engine.pins.pin({ account: other, cid: based })).toEqual({ ...pinned, created: false })
      await engine.pins.remove({ account: other, cid: record.cid })
      expect((await engine.pins.list({ account: other })).total).toBe(0)
    })
  })

  test('a DAG below a pin can be pinned separately, and outlives it', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const files = { 'sub/deep/a': pseudoRandom(2_000_000, 'a'), 'sub/b': CONTENT, c: pseudoRandom(10, 'c') }
      const { record } = await engine.pins.uploadDirectory(tree(files), { account })
      const links = await import('../../src/content/dag/links.ts')
      const root = CID.parse(record.cid)
      const sub = [...links.linksOf(root, await readBlock(engine, root))][1]?.toString() ?? ''
      const pinned = await engine.pins.pin({ account, cid: sub })
      expect(pinned.record).toMatchObject({ type: 'pin', size: 2_050_000 })
      await engine.pins.remove({ account, cid: record.cid })
      await engine.collect({ graceSeconds: 0 })
      expect(await readTree(await engine.clusters.backendOf(), sub)).toEqual({
        b: sha256Hex(files['sub/b']),
        deep: 'dir',
        'deep/a': sha256Hex(files['sub/deep/a']),
      })
      expect((await viaGateway(engine, `/ipfs/${record.cid}`)).status).toBe(404)
      const listed = (await engine.pins.list({ account, parentCid: sub })).items
      expect(listed.map(({ path, size }) => [path, size]).sort()).toEqual([
        ['b', 50_000],
        ['deep/a', 2_000_000],
      ])
      await engine.pins.remove({ account, cid: sub })
      await engine.collect({ graceSeconds: 0 })
      expect(await storeSizes(test.dataDir)).toEqual(EMPTY)
    })
  })

  test('content without provider, and malformed CIDs, cannot be pinned', async () => {
    await withEngine(async ({ engine, account }) => {
      const pin = (cid: string) => engine.pins.pin({ account, cid })
      const absent = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
      await expect(pin(absent)).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      for (const wrong of ['', 'x', `${absent}/a`, `ipfs://${absent}`, `/ipfs/${absent}`, absent.slice(0, -1)]) {
        await expect(pin(wrong)).rejects.toMatchObject({ code: 'INVALID_CID' })
      }
      expect((await engine.pins.usage(account)).pins).toBe(0)
    })
  })

  test('an unpinned block is no source, even before its collection', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const { cid } = (await upload(test)).record
      await engine.pins.remove({ account, cid })
      await expect(engine.pins.pin({ account, cid })).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
      expect((await upload(test)).created).toBe(true)
      await engine.collect({ graceSeconds: 0 })
      expect(await readFile(await engine.clusters.backendOf(), cid)).toHaveLength(50_000)
    })
  })

  test('each creation and removal emits one event', async () => {
    await withEngine(async test => {
      const { engine, account } = test
      const seen: string[] = []
      engine.events.on('pin:created', ({ record }) => seen.push(`created ${record.uploadId}`))
      engine.events.on('pin:removed', ({ record, reason }) => seen.push(`${reason} ${record.uploadId}`))
      engine.events.on('pin:created', () => {
        throw new Error('a listener that throws')
      })
      const { record } = await upload(test)
      await upload(test)
      await engine.pins.remove({ account, cid: record.cid })
      expect(seen).toEqual([`created ${record.uploadId}`, `deleted ${record.uploadId}`])
    })
  })
})
