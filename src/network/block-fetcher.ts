import type { CID } from 'multiformats/cid'

/** Gets blocks of one DAG from others. Every block that it returns hashes to its CID. */
export interface FetchSession {
  /**
   * @throws HoldfastError `CID_NOT_FOUND` when every provider has said that it does not have the block, or there is
   * none left; the signal's reason, if that aborts. While some provider may still answer the call is pending.
   */
  get(cid: CID, options: { signal: AbortSignal }): Promise<Uint8Array>
  /** Short names of the providers tried and how each failed last, for a record's reason; null if it did not. */
  providers(): Array<{ provider: string; error: string | null }>
  /** Asks nobody any more. */
  close(): void
}

export interface BlockFetcher {
  /** Whether there is anybody to ask: a peer, a router, a gateway, or one of these origins. */
  canAsk(origins: readonly string[]): boolean
  /**
   * Those origins that may be asked: clients name all of their addresses, private ones included.
   *
   * @throws HoldfastError `VALIDATION` naming `origins` for one that is malformed.
   */
  usable(origins: readonly string[]): string[]
  /**
   * The caller closes the session.
   *
   * @param options.origins multiaddrs ending in `/p2p/<id>`, or http(s) gateway URLs: tried first
   * @param options.owner sessions of different owners take turns where there is more to fetch than goes at once
   * @param options.lingerMs how long nobody is given up for, since providers may still connect: clients of the
   * pinning service API do so once their request is answered; 0 if absent
   * @throws HoldfastError `VALIDATION` naming `origins` for one that is malformed or forbidden.
   */
  open(
    root: CID,
    options: { origins: readonly string[]; signal: AbortSignal; owner?: string | undefined; lingerMs?: number },
  ): Promise<FetchSession>
}
