import { WithStatements } from '../../storage/with-statements.ts'

/** Finds the blocks of external backends that must stay on this disk. */
export class PlacedBlocks extends WithStatements {
  readonly #neededHere = this.db.prepare<[Uint8Array, number, number]>(`
    SELECT 1 FROM blocks b JOIN root_blocks rb ON rb.block_id = b.id JOIN roots r ON r.id = rb.root_id
    WHERE b.multihash = ? AND b.backend_id = ? AND r.state <> 'dropped'
      AND (r.placed_at IS NULL OR r.placed_at > ? OR r.unconfirmed = 1)
    LIMIT 1`)
  readonly #size = this.db.prepare<[Uint8Array, number], { size: number }>(`
    SELECT size FROM blocks WHERE multihash = ? AND backend_id = ?`)

  /**
   * Returns false if the backend has confirmed all roots that contain the block, and received them no later than
   * `after`.
   */
  isNeededHere(backendId: number, multihash: Uint8Array, after: number): boolean {
    return this.#neededHere.get(multihash, backendId, after) !== undefined
  }

  sizeOf(backendId: number, multihash: Uint8Array): number {
    return this.#size.get(multihash, backendId)?.size ?? 0
  }
}
