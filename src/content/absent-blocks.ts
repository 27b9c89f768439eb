import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockSource } from './block-source.ts'

/**
 * Source for the blocks of an absent cluster. The ledger knows them, but nothing can read them until the cluster is
 * back.
 */
export class AbsentBlocks implements BlockSource {
  /** @throws HoldfastError `UNAVAILABLE` */
  async read(cid: CID): Promise<Uint8Array> {
    throw new HoldfastError('UNAVAILABLE', `block ${cid} is in a cluster that is absent`)
  }
}
