import { BACKENDS_OF_NODE as BACKENDS, LEDGER_BACKEND } from '../../src/catalogue/rules/dialect.ts'

/** No backend of a node has a higher number. */
export const LAST_BACKEND = BACKENDS - 1
/** The number of a node's backend in that node's ledger, from the one that all nodes know it by. */
export const BACKEND_ID = LEDGER_BACKEND.postgres
/** The node that has a backend, by its number. */
export const NODE_NUMBER = `backend_id / ${BACKENDS}`

/** The number by which all nodes know a backend, from its number in the ledger of the node that has it. */
export type SharedBackend = (backendId: number) => number

/** @param node the number of the node; the first one's is 0, so that its backends are called as they are there */
export function backendsOf(node: number): SharedBackend {
  return backendId => node * BACKENDS + backendId
}
