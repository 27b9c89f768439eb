export interface DoomedBlock {
  id: number
  multihash: Uint8Array
}

export interface FailedDeletion {
  id: number
  error: unknown
}
