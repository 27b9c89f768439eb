import assert from 'node:assert/strict'
import { EMPTY, storeSizes, strayBlocks } from '../support/store-inspection.ts'
import { AccountLog, type Content, now } from './account-log.ts'
import { BrokenOff, type Client } from './client.ts'
import { WORKERS } from './load.ts'
import type { TortureServer } from './torture-server.ts'

/** Contents of an account that are read back at once. */
const READERS = 8

/**
 * Checks a restarted server: acknowledged content is listed and reads back whole, removed content is gone, and nothing
 * else is visible.
 *
 * @param at the time of the crash, in milliseconds since the epoch
 * @returns the listed CIDs
 */
export async function inspect({ client }: TortureServer, log: AccountLog, at: number): Promise<Set<string>> {
  const listed = await inspectAccount(client, log, at)
  const { status, json } = await client.json<{ damaged: unknown[] }>('POST', '/admin/v1/verify')
  assert.equal(status, 200)
  assert.deepEqual(json.damaged, [], 'blocks are damaged')
  return listed
}

/**
 * Checks one account as {@link inspect} does, without the owner's verification.
 *
 * @param clients number of concurrent clients of the account
 */
export async function inspectAccount(
  client: Client,
  log: AccountLog,
  at: number,
  clients = WORKERS,
): Promise<Set<string>> {
  const from = now()
  const listed = new Set(await client.list())
  const seen = { from, to: now() }
  const known = new Map(log.contents.map(content => [content.cid, content]))
  for (const cid of listed) {
    if (known.has(cid)) assert.notEqual(log.fateOf(cid, at, seen), 'gone', `${cid} was removed and is listed`)
  }
  // A directory whose answer never arrived has an unknown CID.
  const unknown = [...listed].filter(cid => !known.has(cid))
  assert.ok(unknown.length <= clients, `${unknown.join(', ')} are listed and were never stored`)
  for (const cid of unknown) {
    assert.equal((await client.ask('DELETE', `/api/v3/files/remove/${cid}`)).status, 200)
    listed.delete(cid)
  }
  // The readers share the iterator.
  const unread = known.values()
  const read = async (): Promise<void> => {
    for (const content of unread) {
      if (listed.has(content.cid)) await readBack(client, content, log)
      else assert.notEqual(log.fateOf(content.cid, at, seen), 'kept', `${content.cid} was acknowledged and is lost`)
    }
  }
  await Promise.all(Array.from({ length: READERS }, read))
  return listed
}

/** Reads a content and compares its hashes. If its timelock passes meanwhile, it may be gone or cut off. */
export async function readBack(client: Client, content: Content, log = new AccountLog()): Promise<void> {
  for (const [path, hash] of Object.entries(content.hashes)) {
    const read = await client.hashOf(content.cid, path).catch((error: unknown) => {
      if (error instanceof BrokenOff && log.isOver(content)) return null
      throw error
    })
    if (read === null && log.isOver(content)) continue
    assert.equal(read, hash, `${content.cid}/${path} does not read back as it was stored`)
  }
}

/** Removes all records of an account. */
export async function removeAll(client: Client): Promise<void> {
  for (let listed = await client.list(); listed.length > 0; listed = await client.list()) {
    for (const cid of new Set(listed)) {
      const { status } = await client.ask('DELETE', `/api/v3/files/remove/${cid}`)
      assert.ok(status === 200 || status === 404, `${cid} could not be removed: ${status}`)
    }
  }
}

/** Removes all records, collects and stops the server. Checks that its store is empty. */
export async function emptyOut(server: TortureServer, dataDir: string): Promise<void> {
  const { client } = server
  await removeAll(client)
  const { status } = await client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })
  assert.equal(status, 200)
  await server.stop()
  const sizes = await storeSizes(dataDir)
  assert.deepEqual(sizes, EMPTY, 'something is left after everything was removed')
}

/** Collections that together check all directories of blocks; each checks a few. */
const COLLECTIONS = 150

/**
 * Collects until all stray files are gone, and checks that no row lacks its file. A power cut may leave files without
 * rows.
 */
export async function findStrays({ client }: TortureServer, dataDir: string): Promise<void> {
  for (let collections = 0; collections < COLLECTIONS; collections++) {
    assert.equal((await client.json('POST', '/admin/v1/gc', { graceSeconds: 0 })).status, 200)
    const { files, rows } = await strayBlocks(dataDir)
    assert.deepEqual(rows, [], 'blocks have a row and no file')
    if (files.length === 0) return
  }
  assert.deepEqual(await strayBlocks(dataDir), { files: [], rows: [] })
}
