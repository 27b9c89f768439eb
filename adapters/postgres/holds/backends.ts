import { BACKENDS_OF_NODE as BACKENDS, LEDGER_BACKEND } from '../../../src/catalogue/rules/dialect.ts'

export const LAST_BACKEND = BACKENDS - 1
/** SQL expression for a backend's number in its node's ledger, from `backend_id` in the catalogue. */
export const BACKEND_ID = LEDGER_BACKEND.postgres
/** SQL expression for the number of a backend's node. */
export const NODE_NUMBER = `backend_id / ${BACKENDS}`

/** Converts a backend's number in its node's ledger to its number in the catalogue, which is unique among all nodes. */
export type SharedBackend = (backendId: number) => number

/** Returns the conversion for one node. The first node has the number 0. */
export function backendsOf(node: number): SharedBackend {
  return backendId => node * BACKENDS + backendId
}
