import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../domain/errors.ts'
import type { BlockSource } from './block-source.ts'

/** The blocks of a cluster that is declared absent: known to the ledger, and not to be read until it is back. */
export class AbsentBlocks implements BlockSource {
  /** @throws HoldfastError `UNAVAILABLE` */
  async read(cid: CID): Promise<Uint8Array> {
    throw new HoldfastError('UNAVAILABLE', `block ${cid} is in a cluster that is absent`)
  }
}
