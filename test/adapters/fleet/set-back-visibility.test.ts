import { cp, rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { silentLogger } from '../../../src/domain/logger.ts'
import type { Visibility } from '../../../src/index.ts'
import { type Fleet, type FleetNode, withFleet } from '../../support/fleet.ts'
import { needsPostgres, startPostgres, type TestPostgres } from '../../support/postgres-server.ts'

/** Another node reacts after a moment, or much later on a busy machine. */
const PATIENCE = { timeout: 60_000 }

describe('a record that database and node call differently', { timeout: 240_000, ...needsPostgres }, () => {
  let server: TestPostgres
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.stop())

  const upload = async ({ a, account }: Fleet, text: string, visibility: Visibility) =>
    (await a.engine.pins.upload(text, { account, visibility })).record
  const change = ({ a, account }: Fleet, uploadId: string, visibility: Visibility) =>
    expect
      .poll(async () => (await a.engine.pins.setVisibility({ account, uploadId, visibility })).pending, PATIENCE)
      .toEqual([])
  const statusOf = async ({ url }: FleetNode, cid: string, key = ''): Promise<number> => {
    const answer = await fetch(`${url}/ipfs/${cid}`, { headers: { 'x-api-key': key } })
    await answer.arrayBuffer()
    return answer.status
  }
  const visibilityOf = async ({ a, account }: Fleet, uploadId: string) =>
    (await a.engine.pins.get({ account, uploadId })).visibility
  const disputes = async ({ a }: Fleet) => {
    const { findings } = await a.engine.reconcile({ dryRun: true })
    return findings.flatMap(({ kind, what, detail }) => (kind === 'record-disputed' ? { what, detail } : []))
  }
  /** Returns what an account sees, by pages with and without numbers. */
  const ownDisputes = async ({ a, account }: Fleet) => {
    const { items } = await a.engine.pins.list({ account, visibility: 'disputed' })
    const walked: unknown[] = []
    for await (const item of a.engine.pins.all({ account, visibility: 'disputed' })) walked.push(item)
    expect(walked).toEqual(items)
    return items.map(({ uploadId, visibility, disputed }) => [uploadId, visibility, disputed])
  }
  /** Waits until a public file is read again. Fails if one of the others is read before. */
  const untilServed = async (node: FleetNode, cid: string, others: readonly string[]) => {
    const seen = async (): Promise<number> => {
      for (const other of others) expect([404, 503]).toContain(await statusOf(node, other))
      return statusOf(node, cid)
    }
    await expect.poll(seen, PATIENCE).toBe(200)
  }

  test('is private after a set-back of the database, until its account decides', async () => {
    const warnings: object[] = []
    const logger = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) }
    await withFleet(
      await server.fresh(),
      async fleet => {
        const { a, b, account, key } = fleet
        const open = await upload(fleet, 'public all the time', 'public')
        const hidden = await upload(fleet, 'hidden after the snapshot', 'public')
        const shown = await upload(fleet, 'shown after the snapshot', 'private')
        const setBack = await server.snapshot()
        await expect.poll(() => statusOf(b, hidden.cid), PATIENCE).toBe(200)
        await change(fleet, hidden.uploadId, 'private')
        await change(fleet, shown.uploadId, 'public')
        const newer = await upload(fleet, 'uploaded after the snapshot', 'public')
        expect(await Promise.all([hidden, shown, newer].map(({ cid }) => statusOf(a, cid)))).toEqual([404, 200, 200])
        await Promise.all([a.stop(), b.stop()])
        await setBack()
        await Promise.all([a.start(), b.start()])

        const closed = [hidden, shown, newer].map(({ cid }) => cid)
        await untilServed(a, open.cid, closed)
        await expect.poll(() => visibilityOf(fleet, hidden.uploadId), PATIENCE).toBe('private')
        for (const node of [a, b]) await untilServed(node, open.cid, closed)
        expect(await visibilityOf(fleet, shown.uploadId)).toBe('private')
        for (const { cid } of [hidden, shown]) expect([cid, await statusOf(a, cid, key)]).toEqual([cid, 200])
        const sides = [
          { what: hidden.uploadId, detail: `${hidden.cid} was public in the database, and private on its node` },
          { what: shown.uploadId, detail: `${shown.cid} was private in the database, and public on its node` },
        ]
        // The ledger shows private content shortly before the transaction with the dispute ends.
        await expect.poll(() => disputes(fleet), PATIENCE).toEqual(expect.arrayContaining(sides))
        expect(await ownDisputes(fleet)).toEqual([
          [shown.uploadId, 'private', 'private'],
          [hidden.uploadId, 'private', 'public'],
        ])
        expect(warnings).toContainEqual({
          record: hidden.uploadId,
          cid: hidden.cid,
          database: 'public',
          node: 'private',
        })

        await change(fleet, shown.uploadId, 'public')
        await change(fleet, hidden.uploadId, 'private')
        await expect.poll(() => statusOf(b, shown.cid), PATIENCE).toBe(200)
        expect([await disputes(fleet), await ownDisputes(fleet)]).toEqual([[], []])
        for (const node of [a, b]) await node.engine.reconcile({ force: true })
        expect((await a.engine.pins.list({ account })).items.map(({ status }) => status)).toEqual(
          Array(3).fill('pinned'),
        )
        expect(await statusOf(b, hidden.cid)).toBe(404)
      },
      { logger },
    )
  })

  test('is private after its directory was restored', async () => {
    await withFleet(await server.fresh(), async fleet => {
      const { a, key } = fleet
      const open = await upload(fleet, 'public all the time', 'public')
      const hidden = await upload(fleet, 'hidden after the copy', 'public')
      // The start compares the newest 32 holds with the database, too.
      for (let i = 0; i < 32; i++) await upload(fleet, `newer ${i}`, 'public')
      await a.stop()
      await cp(a.dataDir, `${a.dataDir}-copy`, { recursive: true })
      await a.start()
      expect(await statusOf(a, open.cid)).toBe(200)
      await change(fleet, hidden.uploadId, 'private')
      await a.stop()
      await rm(a.dataDir, { recursive: true })
      await cp(`${a.dataDir}-copy`, a.dataDir, { recursive: true })
      await a.start()
      await untilServed(a, open.cid, [hidden.cid])
      await expect.poll(() => statusOf(a, hidden.cid, key), PATIENCE).toBe(200)
      expect(await statusOf(a, hidden.cid)).toBe(404)
      await expect.poll(() => disputes(fleet), PATIENCE).toMatchObject([{ what: hidden.uploadId }])
    })
  })

  test('does not delay a plain restart', async () => {
    await withFleet(await server.fresh(), async fleet => {
      const { a } = fleet
      const open = await upload(fleet, 'public all the time', 'public')
      const hidden = await upload(fleet, 'hidden before the restart', 'public')
      await change(fleet, hidden.uploadId, 'private')
      for (let round = 0; round < 3; round++) {
        await a.stop()
        await a.start()
        expect([await statusOf(a, open.cid), await statusOf(a, hidden.cid)]).toEqual([200, 404])
      }
      expect((await a.engine.reconcile()).findings).toEqual([])
    })
  })
})
