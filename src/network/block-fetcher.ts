import type { CID } from 'multiformats/cid'

/** Fetches the blocks of one DAG from providers. The hash of every returned block matches its CID. */
export interface FetchSession {
  /**
   * Fetches a block. The call does not return while a provider may still answer.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if each provider lacks the block or was dropped; the signal's reason if the
   * signal aborts
   */
  get(cid: CID, options: { signal: AbortSignal }): Promise<Uint8Array>
  /**
   * Returns the short names of the providers that were asked, each with its last error or null. The error message of a
   * failed fetch quotes both.
   */
  providers(): Array<{ provider: string; error: string | null }>
  /** Closes the session and cancels its requests. */
  close(): void
}

export interface BlockFetcher {
  /** Returns whether any provider can be asked: a peer, a router, a gateway, or one of these origins. */
  canAsk(origins: readonly string[]): boolean
  /**
   * Returns the origins that this node may dial. Clients often list all their addresses, including private addresses.
   *
   * @throws HoldfastError `VALIDATION`, which names `origins`, if an origin is malformed
   */
  usable(origins: readonly string[]): string[]
  /**
   * Opens a session. The caller must close the session.
   *
   * @param options.origins multiaddrs ending in `/p2p/<id>`, or http(s) URLs of gateways. They are asked first.
   * @param options.owner owner of the session. At the limit of concurrent fetches, the owners take turns.
   * @param options.lingerMs time in ms during which a fetch does not fail for lack of providers. Clients of the pinning
   * service API connect to this node only after their request is answered. Default 0.
   * @throws HoldfastError `VALIDATION`, which names `origins`, if an origin is malformed or forbidden
   */
  open(
    root: CID,
    options: { origins: readonly string[]; signal: AbortSignal; owner?: string | undefined; lingerMs?: number },
  ): Promise<FetchSession>
}
