import type { CID } from 'multiformats/cid'

/** Fetches the blocks of one DAG. The hash of every returned block matches its CID. */
export interface FetchSession {
  /**
   * Fetches a block. Does not return while a provider may still answer.
   * @throws HoldfastError `CID_NOT_FOUND` if each provider lacks the block or was dropped; the signal's reason if the
   * signal aborts
   */
  get(cid: CID, options: { signal: AbortSignal }): Promise<Uint8Array>
  /** Returns the asked providers, each with its last error. The error message of a failed fetch quotes both. */
  providers(): Array<{ provider: string; error: string | null }>
  close(): void
}

export interface BlockFetcher {
  canAsk(origins: readonly string[]): boolean
  /**
   * Returns the origins that this node may dial.
   * @throws HoldfastError `VALIDATION`, which names `origins`, if an origin is malformed
   */
  usable(origins: readonly string[]): string[]
  /**
   * Opens a session that the caller must close.
   * @param options.origins multiaddrs ending in `/p2p/<id>`, or http(s) URLs of gateways, to ask first
   * @param options.owner At the limit of concurrent fetches, the owners take turns.
   * @param options.lingerMs time in ms during which a fetch does not fail for lack of providers. Clients of the pinning
   * service API connect to this node only after their request is answered.
   * @throws HoldfastError `VALIDATION`, which names `origins`, if an origin is malformed or forbidden
   */
  open(
    root: CID,
    options: { origins: readonly string[]; signal: AbortSignal; owner?: string | undefined; lingerMs?: number },
  ): Promise<FetchSession>
}
