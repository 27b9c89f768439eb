import { CID } from 'multiformats/cid'
import { withDatabase } from './store-inspection.ts'

/** Gives all roots of a CID in a directory's ledger to an owner, as a private record will. */
export function giveRoots(dataDir: string, cid: string, owner: number): void {
  const { multihash } = CID.parse(cid)
  const set = 'UPDATE roots SET owner = ? WHERE multihash = ?'
  withDatabase(dataDir, db => db.prepare<[number, Uint8Array], unknown>(set).run(owner, multihash.bytes))
}

/** Returns the number of an account in a directory's catalogue. */
export function ownerOf(dataDir: string, account: string): number {
  const text = 'SELECT owner FROM accounts WHERE id = ?'
  return withDatabase(dataDir, db => db.prepare<[string], { owner: number }>(text).get(account)?.owner ?? 0)
}

/** Returns the number of blocks that the fetches of an account have claimed. */
export function fetchedBlocks(dataDir: string, account: string): number {
  const text = `SELECT COUNT(*) AS count FROM root_blocks WHERE root_id IN (
    SELECT root_id FROM fetches WHERE account_id = ?)`
  return withDatabase(dataDir, db => db.prepare<[string], { count: number }>(text).get(account)?.count ?? 0)
}

/** Returns the owners of all complete roots, oldest first. */
export function owners(dataDir: string): number[] {
  const text = "SELECT owner FROM roots WHERE state = 'complete' ORDER BY id"
  return withDatabase(dataDir, db =>
    db
      .prepare<[], { owner: number }>(text)
      .all()
      .map(row => row.owner),
  )
}
