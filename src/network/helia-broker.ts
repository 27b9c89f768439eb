import type { BlockBroker, BlockRetrievalOptions, CreateSessionOptions, SessionBlockBroker } from '@helia/interface'
import type { CID } from 'multiformats/cid'
import { type PeerAddress, peersOf } from './addresses.ts'
import type { FetchSession } from './block-fetcher.ts'

type Provider = NonNullable<BlockRetrievalOptions['providers']>[number]

/** Opens one session of this engine for each block that Helia lacks. */
export class HeliaBroker implements BlockBroker {
  readonly name = 'holdfast'
  readonly #open: (root: CID, origins: PeerAddress[]) => FetchSession

  constructor(open: (root: CID, origins: PeerAddress[]) => FetchSession) {
    this.#open = open
  }

  async retrieve(cid: CID, options: BlockRetrievalOptions = {}): Promise<Uint8Array> {
    const session = this.#open(cid, (options.providers ?? []).flatMap(toPeer))
    try {
      return await session.get(cid, { signal: options.signal ?? new AbortController().signal })
    } finally {
      session.close()
    }
  }

  createSession(options: CreateSessionOptions = {}): SessionBlockBroker {
    const providers = [...(options.providers ?? [])]
    return {
      name: this.name,
      addPeer: async peer => {
        providers.push(peer)
      },
      retrieve: (cid, retrieval) => this.retrieve(cid, { ...retrieval, providers }),
    }
  }
}

function toPeer(provider: Provider): PeerAddress[] {
  return Array.isArray(provider) ? provider.flatMap(toPeer) : peersOf(provider)
}
