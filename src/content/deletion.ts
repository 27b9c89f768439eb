/** A block in the state `deleting`, whose file must be removed. */
export interface DoomedBlock {
  id: number
  multihash: Uint8Array
}

export interface FailedDeletion {
  id: number
  error: unknown
}
