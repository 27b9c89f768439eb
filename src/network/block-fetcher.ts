import type { CID } from 'multiformats/cid'

/** Fetches the blocks of one DAG from providers. Every returned block hashes to its CID. */
export interface FetchSession {
  /**
   * Fetches a block. The call stays pending while a provider may still answer.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if every provider lacks the block or was dropped; the signal's reason if it
   * aborts.
   */
  get(cid: CID, options: { signal: AbortSignal }): Promise<Uint8Array>
  /** Returns the providers asked, by short name, each with its last error or null. A record's reason quotes them. */
  providers(): Array<{ provider: string; error: string | null }>
  /** Ends the session: cancels its requests. */
  close(): void
}

export interface BlockFetcher {
  /** Returns whether there is any source to ask: a peer, a router, a gateway, or one of these origins. */
  canAsk(origins: readonly string[]): boolean
  /**
   * Returns the origins that this node may dial. Clients list all their addresses, including private ones.
   *
   * @throws HoldfastError `VALIDATION` naming `origins` if one is malformed.
   */
  usable(origins: readonly string[]): string[]
  /**
   * Opens a session. The caller closes it.
   *
   * @param options.origins multiaddrs ending in `/p2p/<id>`, or http(s) gateway URLs; asked first
   * @param options.owner sessions of different owners take turns when the node is at its limit of concurrent fetches
   * @param options.lingerMs during this time providers may still connect, so no fetch fails for lack of one; clients of
   * the pinning service API connect after their request is answered; default 0
   * @throws HoldfastError `VALIDATION` naming `origins` if one is malformed or forbidden.
   */
  open(
    root: CID,
    options: { origins: readonly string[]; signal: AbortSignal; owner?: string | undefined; lingerMs?: number },
  ): Promise<FetchSession>
}
