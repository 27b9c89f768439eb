import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockSource } from './block-source.ts'

/**
 * Source for the blocks of a cluster that the configuration marks as absent. The ledger lists the blocks, but the node
 * cannot read them until the cluster is back.
 */
export class AbsentBlocks implements BlockSource {
  /** @throws HoldfastError `UNAVAILABLE` in every case */
  async read(cid: CID): Promise<Uint8Array> {
    throw new HoldfastError('UNAVAILABLE', `block ${cid} is in a cluster that is absent`)
  }
}
