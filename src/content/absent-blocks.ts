import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockSource } from './block-source.ts'

/** Rejects every read of a cluster that the configuration marks as absent. The ledger still lists its blocks. */
export class AbsentBlocks implements BlockSource {
  async read(cid: CID): Promise<Uint8Array> {
    throw new HoldfastError('UNAVAILABLE', `block ${cid} is in a cluster that is absent`)
  }
}
