import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createServer } from '../../adapters/node-http/index.ts'
import type { Engine } from '../../src/index.ts'
import { collect, pseudoRandom } from '../support/bytes.ts'
import { withEngine } from '../support/test-engine.ts'
import { beginReading, threadReaders } from '../support/thread-readers.ts'
import { CANARY } from './matrix.ts'

const MIB = 1024 ** 2

/** Asks the gateway of an engine as a stranger. */
async function statusOf(engine: Engine, path: string): Promise<number> {
  const server = createServer({ api: engine.ownGateway, gateway: engine.ownGateway })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/ipfs/${path}`)
    await answer.arrayBuffer()
    return answer.status
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const textOf = async (engine: Engine, address: { cid: string; path?: string; account?: string }): Promise<string> => {
  const { stream } = await engine.content.read(address)
  return Buffer.from(await collect(stream)).toString('latin1')
}

describe('an account', () => {
  test('reads its private content, and nobody else does', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const other = await newAccount()
      const entries = [{ kind: 'file', path: 'a/b.txt', content: CANARY }] as const
      const { record, files } = await engine.pins.uploadDirectory(entries, { account, visibility: 'private' })
      expect(record.visibility).toBe('private')
      const file = files[0]?.cid ?? ''
      expect(await textOf(engine, { cid: record.cid, path: 'a/b.txt', account })).toBe(CANARY)
      expect(await textOf(engine, { cid: file, account })).toBe(CANARY)
      for (const cid of [record.cid, file]) {
        const code = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ code: 'CID_NOT_FOUND' })
        await code(textOf(engine, { cid, path: cid === file ? '' : 'a/b.txt' }))
        await code(textOf(engine, { cid, path: cid === file ? '' : 'a/b.txt', account: other }))
      }
      await engine.takedowns.add({ cid: file, reason: 'x' })
      await expect(textOf(engine, { cid: record.cid, path: 'a/b.txt', account })).rejects.toMatchObject({
        code: 'GONE',
      })
    })
  })

  test('has a default visibility for records that name none', async () => {
    await withEngine(async ({ engine, account }) => {
      await engine.accounts.setDefaultVisibility(account, 'private')
      const { record } = await engine.pins.upload('by default', { account })
      expect([record.visibility, await statusOf(engine, record.cid)]).toEqual(['private', 404])
      const { record: open } = await engine.pins.upload('by default', { account, visibility: 'public' })
      expect([open.visibility, open.cid, await statusOf(engine, open.cid)]).toEqual(['public', record.cid, 200])
      await expect(engine.pins.upload('x', { account, visibility: 'secret' })).rejects.toMatchObject({
        code: 'VALIDATION',
        message: 'visibility must be "public" or "private"',
      })
    })
  })
})

describe('a change of the visibility', () => {
  test('hides a record from strangers, and shows it again', async () => {
    await withEngine(async ({ engine, account, newAccount }) => {
      const other = await newAccount()
      const { record } = await engine.pins.upload(pseudoRandom(2 * MIB, 'mine'), { account })
      const { record: theirs } = await engine.pins.upload(pseudoRandom(2 * MIB, 'mine'), { account: other })
      const change = (visibility: 'public' | 'private') =>
        engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility })
      expect(await change('private')).toMatchObject({ visibility: 'private', uploadId: record.uploadId })
      expect(await statusOf(engine, record.cid)).toBe(200)
      await engine.pins.discard({ account: other, uploadId: theirs.uploadId })
      expect(await statusOf(engine, record.cid)).toBe(404)
      expect(await change('public')).toMatchObject({ visibility: 'public' })
      expect(await statusOf(engine, record.cid)).toBe(200)
      expect(await change('private')).toMatchObject({ visibility: 'private' })
      expect(await statusOf(engine, record.cid)).toBe(404)
      const wrong = { account: other, uploadId: record.uploadId, visibility: 'public' } as const
      await expect(engine.pins.setVisibility(wrong)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })
  })

  test('ends responses to strangers that have begun', async () => {
    await withEngine(async ({ engine, account }) => {
      const readers = await threadReaders(engine)
      try {
        const { record } = await engine.pins.upload(pseudoRandom(24 * MIB, 'begun'), { account })
        const begun = await Promise.all([1, 2, 3].map(() => beginReading(readers, `/ipfs/${record.cid}`)))
        await engine.pins.setVisibility({ account, uploadId: record.uploadId, visibility: 'private' })
        for (const answer of begun) await expect(answer.toArray()).rejects.toThrow()
        expect((await readers.get(`/ipfs/${record.cid}`)).status).toBe(404)
      } finally {
        await readers.stop()
      }
    })
  })
})
