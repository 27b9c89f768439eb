import { orAborted } from '../../domain/sources.ts'
import type { IpfsClusterApi, PinPeers } from './api.ts'

/** CIDs of one request. */
const AT_ONCE = 50

interface Asked {
  cid: string
  resolve: (peers: PinPeers | null) => void
  reject: (error: unknown) => void
}

/**
 * Asks what peers say of pins: one request at a time, for all who have come to ask while the one before was under way.
 */
export class StatusBatch {
  readonly #api: Pick<IpfsClusterApi, 'statuses'>
  readonly #waiting: Asked[] = []
  #isAsking = false

  constructor(api: Pick<IpfsClusterApi, 'statuses'>) {
    this.#api = api
  }

  /** Null if nothing is told of it. */
  of(cid: string, signal: AbortSignal): Promise<PinPeers | null> {
    const { promise, resolve, reject } = Promise.withResolvers<PinPeers | null>()
    this.#waiting.push({ cid, resolve, reject })
    if (!this.#isAsking) void this.#ask()
    return orAborted(promise, signal)
  }

  async #ask(): Promise<void> {
    this.#isAsking = true
    // Those who come in the same turn are asked for together.
    await null
    while (this.#waiting.length > 0) {
      const asked = this.#waiting.splice(0, AT_ONCE)
      try {
        // It is everybody's, so that nobody's abort ends it; it has a deadline of its own.
        const cids = [...new Set(asked.map(({ cid }) => cid))]
        const found = await this.#api.statuses(cids, new AbortController().signal)
        for (const { cid, resolve } of asked) resolve(found.get(cid) ?? null)
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
    }
    this.#isAsking = false
  }
}
