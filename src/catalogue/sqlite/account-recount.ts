import { turnSpent } from '../../concurrency/turns.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Database } from '../../storage/database.ts'
import { rowsOfTurn } from '../../storage/rows-of-turn.ts'
import { WithStatements } from '../../storage/with-statements.ts'
import type { AccountUsage, RecordRow } from '../records.ts'

type CountedRecord = Pick<RecordRow, 'accountId' | 'id' | 'createdAt' | 'multihash' | 'codec'>

interface Place extends AccountUsage {
  createdAt: number
  recordId: string
  multihash: Uint8Array
  codec: number
}

/** Creation time that marks the position after the oldest record. */
const THROUGH = -1

/**
 * Recounts the usage of one account in steps: first the records, newest first, and then the bytes of each distinct DAG.
 * A change of the part that is already counted is added immediately.
 * The position is a row of a temporary table, so a rollback also resets the position. The caller runs each method in a
 * transaction.
 */
export class AccountRecount extends WithStatements {
  readonly #place = this.db.prepare<[number], Place>(`
    SELECT created_at AS createdAt, record_id AS recordId, multihash, codec, pins, expiring_pins AS expiringPins,
      stored_bytes AS storedBytes
    FROM recounts WHERE count = ?`)
  readonly #drop = this.db.prepare<[]>('DELETE FROM recounts')
  readonly #begin = this.db.prepare<[number, number]>(`INSERT INTO recounts VALUES (?, ?, '', x'', -1, 0, 0, 0)`)
  readonly #records = this.db.prepare<
    [string, number, string, number],
    { createdAt: number; id: string; expires: 0 | 1 }
  >(`
    SELECT created_at AS createdAt, id, expires_at IS NOT NULL AS expires FROM records INDEXED BY records_by_account
    WHERE account_id = ? AND (created_at, id) < (?, ?) ORDER BY created_at DESC, id DESC LIMIT ?`)
  readonly #addRecords = this.db.prepare<[number, string, number, number, number]>(`
    UPDATE recounts SET created_at = ?, record_id = ?, pins = pins + ?, expiring_pins = expiring_pins + ?
    WHERE count = ?`)
  readonly #nextDag = this.db.prepare<[string, Uint8Array, number], { multihash: Uint8Array; codec: number }>(`
    SELECT multihash, codec FROM records INDEXED BY records_identical
    WHERE account_id = ? AND (multihash, codec) > (?, ?) ORDER BY multihash, codec LIMIT 1`)
  readonly #chargeOf = this.db.prepare<[string, Uint8Array, number], { charge: number }>(`
    SELECT charge FROM records INDEXED BY records_identical
    WHERE account_id = ? AND multihash = ? AND codec = ? AND (root_id IS NULL) = 0 LIMIT 1`)
  readonly #addDags = this.db.prepare<[Uint8Array, number, number, number]>(`
    UPDATE recounts SET multihash = ?, codec = ?, stored_bytes = stored_bytes + ? WHERE count = ?`)
  readonly #changed = this.db.prepare<[number, number, number, number, string]>(`
    UPDATE recounts SET pins = pins + ?, expiring_pins = expiring_pins + ?
    WHERE count = ? AND (created_at, record_id) <= (?, ?)`)
  readonly #dagChanged = this.db.prepare<[number, number, Uint8Array, number]>(`
    UPDATE recounts SET stored_bytes = stored_bytes + ? WHERE count = ? AND (multihash, codec) >= (?, ?)`)
  #accountId: string | null = null
  /** Distinguishes the row of the current count from the row of an earlier count, which a rollback can restore. */
  #count = 0

  constructor(db: Database) {
    db.prepare(`
      CREATE TEMP TABLE IF NOT EXISTS recounts (
        count INTEGER PRIMARY KEY, created_at INTEGER, record_id TEXT, multihash BLOB, codec INTEGER,
        pins INTEGER, expiring_pins INTEGER, stored_bytes INTEGER) STRICT, WITHOUT ROWID`).run()
    super(db)
  }

  /** Adds a change of usage. The caller reports each change of a record after writing it. */
  changed(record: CountedRecord, { pins, expiringPins, storedBytes }: AccountUsage): void {
    const { accountId, createdAt, id, multihash, codec } = record
    if (accountId !== this.#accountId) return
    this.#changed.run(pins, expiringPins, this.#count, createdAt, id)
    this.#dagChanged.run(storedBytes, this.#count, multihash, codec)
  }

  /** Counts up to `limit` rows, and fewer if they are slow. Returns null if more steps are needed. */
  step(accountId: string, limit: number): AccountUsage | null {
    const place = this.#placeOf(accountId)
    if (place.createdAt === THROUGH) return this.#countDags(accountId, place, limit)
    const found = rowsOfTurn(this.#records.iterate(accountId, place.createdAt, place.recordId, limit))
    const last = found.at(-1)
    const expiring = found.filter(({ expires }) => expires === 1).length
    this.#addRecords.run(last?.createdAt ?? THROUGH, last?.id ?? '', found.length, expiring, this.#count)
    return null
  }

  #countDags(accountId: string, place: Place, limit: number): AccountUsage | null {
    const { multihash, codec, pins, expiringPins, storedBytes } = place
    let last = { multihash, codec }
    let bytes = 0
    for (let counted = 0; counted < limit; counted++) {
      const next = this.#nextDag.get(accountId, last.multihash, last.codec)
      if (next === undefined) {
        this.#drop.run()
        return { pins, expiringPins, storedBytes: storedBytes + bytes }
      }
      bytes += this.#chargeOf.get(accountId, next.multihash, next.codec)?.charge ?? 0
      last = next
      if (turnSpent()) break
    }
    this.#addDags.run(last.multihash, last.codec, bytes, this.#count)
    return null
  }

  #placeOf(accountId: string): Place {
    const known = this.#accountId === accountId ? this.#place.get(this.#count) : undefined
    if (known !== undefined) return known
    this.#accountId = accountId
    this.#count++
    this.#drop.run()
    this.#begin.run(this.#count, Number.MAX_SAFE_INTEGER)
    const begun = this.#place.get(this.#count)
    if (begun === undefined) throw new HoldfastError('INTERNAL_ERROR', 'the database lost the row of a recount')
    return begun
  }
}
