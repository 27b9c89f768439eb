import { within } from '../../src/concurrency/deadline.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import { formBody } from '../../src/domain/form-body.ts'
import { HASH } from '../../src/ipld/cid.ts'
import { Batch } from '../remote/batch.ts'
import { carOf, type DagBlock } from '../remote/small-dag.ts'
import type { IpfsClusterApi, Replication } from './ipfs-cluster-api.ts'
import { isSendable } from './sendable-blocks.ts'

const TOGETHER = 32
const SEND_MS = 120_000

/** Sends small DAGs in batches, because a request costs more than the transfer of such a DAG. */
export class SmallSends {
  readonly #batch: Batch<readonly DagBlock[], readonly string[]>

  constructor({ api, replication, clock }: { api: IpfsClusterApi; replication: Replication | null; clock: Clock }) {
    const late = (): HoldfastError => new HoldfastError('UNAVAILABLE', 'the IPFS Cluster did not take blocks in time')
    const send = async (dags: ReadonlyArray<readonly DagBlock[]>): Promise<Array<readonly string[]>> => {
      // The cluster treats the last block as the root.
      const blocks = dags.flatMap(dag => dag.toReversed())
      const root = blocks.at(-1)?.cid
      if (root === undefined) return []
      const form = formBody([{ name: 'file', filename: 'dags.car', content: carOf(root, blocks) }])
      const allocated = await within({ clock, ms: SEND_MS, late }, signal =>
        api.add({ root: root.toString(), form, replication, peers: [], signal }),
      )
      return dags.map(() => allocated)
    }
    this.#batch = new Batch({ maxItems: TOGETHER, ask: send, retryAlone: true })
  }

  /** Returns whether the DAG can share a request. All blocks of a request must use the same hash function. */
  takes(dag: readonly DagBlock[]): boolean {
    return dag.every(({ cid }) => isSendable(cid) && cid.multihash.code === HASH.sha2_256)
  }

  /**
   * @param dag the blocks of the DAG, with the root first
   * @returns the ids of the peers to which the cluster assigned the blocks
   */
  send(dag: readonly DagBlock[], signal: AbortSignal): Promise<readonly string[]> {
    return this.#batch.of(dag, signal)
  }
}
