import { join } from 'node:path'
import SQLite from 'better-sqlite3'
import type { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { CODEC } from '../../src/ipld/cid.ts'
import { identityBlock } from '../pins/fetches/support/dags.ts'
import { viaGateway } from '../support/read-back.ts'
import { withEngine } from '../support/test-engine.ts'

/** Replaces a CID with another one, as version 0.2.0 stored it. */
function replaceRoot(dataDir: string, old: CID, { multihash, ...cid }: CID, text: string): void {
  const db = new SQLite(join(dataDir, 'holdfast.db'))
  for (const table of ['roots', 'records']) {
    const changed = db.prepare(`UPDATE ${table} SET multihash = ?, codec = ? WHERE multihash = ?`)
    expect(changed.run(multihash.bytes, cid.code, old.multihash.bytes).changes).toBe(1)
  }
  db.prepare('UPDATE records SET cid = ? WHERE cid = ?').run(text, `${old}`)
  db.close()
}

test.each([129, 300, 1_000, 16_000])('an identity CID of %i bytes stored by 0.2.0 works fully', async size => {
  await withEngine(async test => {
    const { account, dataDir } = test
    const short = identityBlock(CODEC.raw, Buffer.from('short'))
    const long = identityBlock(CODEC.raw, Buffer.alloc(size, 'long '))
    const cid = `${long.cid}`
    await test.engine.pins.pin({ account, cid: `${short.cid}` })
    await test.engine.stop()
    replaceRoot(dataDir, short.cid, long.cid, cid)
    const engine = await test.restart()
    const { pins, content } = engine
    expect(await viaGateway(engine, `/ipfs/${cid}`)).toEqual({ status: 200, bytes: long.bytes })
    expect((await content.stat({ cid, account })).size).toBe(size)
    expect((await pins.list({ account })).items.map(item => item.cid)).toEqual([cid])
    expect((await pins.list({ account, cid })).total).toBe(1)
    expect((await pins.status({ account, cid })).map(({ record }) => record.status)).toEqual(['pinned'])
    const refused = { code: 'INVALID_CID' }
    await expect(pins.pin({ account, cid })).rejects.toMatchObject(refused)
    expect(await pins.remove({ account, cid })).toHaveLength(1)
    expect((await pins.list({ account })).total).toBe(0)
    await expect(content.stat({ cid })).rejects.toMatchObject(refused)
  })
})
