import type { CID } from 'multiformats/cid'
import { type BlockSource, HoldfastError, type PinJob } from '../../src/index.ts'
import type { Dag } from '../pins/fetches/support/dags.ts'
import { MemoryCluster } from './memory-cluster.ts'

/** Cluster that fetches content by itself if a job has no source. */
export class FetchingCluster extends MemoryCluster {
  /** Jobs received, in order. */
  readonly jobs: Array<{ byItself: boolean; origins: readonly string[] }> = []
  /** Number of size requests and block reads. */
  sized = 0
  reads = 0
  unpins = 0
  /** Called before each answer to a size request. */
  beforeSize: () => void | Promise<void> = () => undefined
  /** Awaited before the cluster fetches by itself. */
  beforeFetch: (signal: AbortSignal) => void | Promise<void> = () => undefined
  readonly #reached = new Map<string, Uint8Array>()

  reach(dag: Dag): void {
    for (const { cid, bytes } of dag.blocks) this.#reached.set(keyOf(cid), bytes)
  }

  override async pin(job: PinJob): Promise<void> {
    this.jobs.push({ byItself: job.source === null, origins: job.origins })
    if (job.source !== null) return super.pin(job)
    await this.beforeFetch(job.signal ?? new AbortController().signal)
    const source: BlockSource = {
      read: async cid => {
        const bytes = this.#reached.get(keyOf(cid))
        if (bytes === undefined) throw new HoldfastError('UNAVAILABLE', 'it finds nobody who has it')
        return bytes
      },
    }
    await super.pin({ ...job, source })
  }

  override async unpin(...request: Parameters<MemoryCluster['unpin']>): Promise<void> {
    this.unpins++
    await super.unpin(...request)
  }

  override read(cid: CID): Promise<Uint8Array> {
    this.reads++
    return super.read(cid)
  }

  async sizeOf(cid: CID): Promise<number> {
    this.sized++
    await this.beforeSize()
    return (await super.read(cid)).length
  }
}

function keyOf({ multihash }: CID): string {
  return Buffer.from(multihash.bytes).toString('hex')
}
