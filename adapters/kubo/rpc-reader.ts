import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../src/content/block-source.ts'
import type { KuboRpc } from './kubo-rpc.ts'

/** Does not verify the blocks. */
export class RpcReader implements BlockSource {
  readonly #rpc: Pick<KuboRpc, 'block'>

  constructor(rpc: Pick<KuboRpc, 'block'>) {
    this.#rpc = rpc
  }

  read(cid: CID, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<Uint8Array> {
    return this.#rpc.block(cid, signal ?? new AbortController().signal)
  }
}
