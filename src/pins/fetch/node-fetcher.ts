import type { CID } from 'multiformats/cid'
import type { BlockSource } from '../../content/block-source.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Possessor } from '../../ledger/possessor.ts'
import type { BlockFetcher, FetchSession } from '../../network/block-fetcher.ts'

type FindContent = (cid: CID, by: Possessor) => Promise<{ source: BlockSource } | null>

/** Fetches DAGs for a possessor, who may get what the fleet has already. */
export interface PossessorFetcher extends Omit<BlockFetcher, 'open'> {
  open(root: CID, options: OpenOptions): Promise<FetchSession>
}

type OpenOptions = Parameters<BlockFetcher['open']>[1] & { by: Possessor }

/** Fetches content from another node of the fleet that has it, and from the network. */
export class NodeFetcher implements PossessorFetcher {
  readonly #network: BlockFetcher | null
  readonly #find: FindContent

  /** @param network null if networking is off */
  constructor(network: BlockFetcher | null, find: FindContent) {
    this.#network = network
    this.#find = find
  }

  canAsk(origins: readonly string[]): boolean {
    return this.#network?.canAsk(origins) ?? false
  }

  usable(origins: readonly string[]): string[] {
    return this.#network?.usable(origins) ?? []
  }

  async open(root: CID, options: OpenOptions): Promise<FetchSession> {
    const other = await this.#find(root, options.by)
    const session = this.#network === null ? NOBODY : await this.#network.open(root, options)
    return other === null ? session : new NodeSession(other.source, session)
  }
}

const NOBODY: FetchSession = {
  get: async cid => {
    throw new HoldfastError('CID_NOT_FOUND', `no other node has ${cid}, and networking is off`)
  },
  providers: () => [],
  close: () => undefined,
}

/** Asks the other node first, and the network for a block that this node does not answer. */
class NodeSession implements FetchSession {
  readonly #source: BlockSource
  readonly #session: FetchSession
  #error: string | null = null

  constructor(source: BlockSource, session: FetchSession) {
    this.#source = source
    this.#session = session
  }

  async get(cid: CID, options: { signal: AbortSignal }): Promise<Uint8Array> {
    try {
      return await this.#source.read(cid, options)
    } catch (error) {
      options.signal.throwIfAborted()
      this.#error = error instanceof Error ? error.message : String(error)
      return this.#session.get(cid, options)
    }
  }

  providers(): Array<{ provider: string; error: string | null }> {
    return [{ provider: 'another node', error: this.#error }, ...this.#session.providers()]
  }

  close(): void {
    this.#session.close()
  }
}
