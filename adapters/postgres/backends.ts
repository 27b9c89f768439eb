import { BACKENDS_OF_NODE as BACKENDS, LEDGER_BACKEND } from '../../src/catalogue/rules/dialect.ts'

/** The highest number that a backend can have in the ledger of its node. */
export const LAST_BACKEND = BACKENDS - 1
/** SQL expression that converts a backend's number in the catalogue to its number in the ledger of its node. */
export const BACKEND_ID = LEDGER_BACKEND.postgres
/** SQL expression that converts a backend's number in the catalogue to the number of its node. */
export const NODE_NUMBER = `backend_id / ${BACKENDS}`

/**
 * Converts a backend's number in the ledger of its node to its number in the catalogue. The latter is unique among all
 * nodes.
 */
export type SharedBackend = (backendId: number) => number

/** Returns the conversion for one node. On the first node, whose number is 0, both numbers are equal. */
export function backendsOf(node: number): SharedBackend {
  return backendId => node * BACKENDS + backendId
}
