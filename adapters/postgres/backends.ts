import { BACKENDS_OF_NODE as BACKENDS, LEDGER_BACKEND } from '../../src/catalogue/rules/dialect.ts'

/** The highest number that a backend has in its node's ledger. */
export const LAST_BACKEND = BACKENDS - 1
/** SQL expression: the number of a backend in its node's ledger, from its number in the catalogue. */
export const BACKEND_ID = LEDGER_BACKEND.postgres
/** SQL expression: the number of the node that has a backend. */
export const NODE_NUMBER = `backend_id / ${BACKENDS}`

/**
 * Maps the number of a backend in its node's ledger to its number in the catalogue, which is unique among all nodes.
 */
export type SharedBackend = (backendId: number) => number

/** Returns the mapping for one node. On node 0, the first one, both numbers are the same. */
export function backendsOf(node: number): SharedBackend {
  return backendId => node * BACKENDS + backendId
}
