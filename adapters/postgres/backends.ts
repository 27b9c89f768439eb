/** Each node numbers its backends from 1 on; none has so many. */
const BACKENDS = 65_536

/** No backend of a node has a higher number. */
export const LAST_BACKEND = BACKENDS - 1
/** The number of a node's backend in that node's ledger, from the one that all nodes know it by. */
export const BACKEND_ID = `backend_id % ${BACKENDS}`
/** The node that has a backend, by its number. */
export const NODE_NUMBER = `backend_id / ${BACKENDS}`

/** The number by which all nodes know a backend, from its number in the ledger of the node that has it. */
export type SharedBackend = (backendId: number) => number

/** @param node the number of the node; the first one's is 0, so that its backends are called as they are there */
export function backendsOf(node: number): SharedBackend {
  return backendId => node * BACKENDS + backendId
}
