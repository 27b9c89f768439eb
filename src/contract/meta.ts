import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { ApiResponse } from '../http/types.ts'
import type { Peers } from './services.ts'

/** What the service says of itself, without credentials. */
export class MetaRoutes {
  readonly #version: string

  readonly #peers: Peers

  constructor(version: string, peers: Peers) {
    this.#version = version
    this.#peers = peers
  }

  /** GET {base}. */
  about = (): ApiResponse => jsonResponse(200, { name: 'holdfast', version: this.#version })

  /** GET /health. */
  health = (): ApiResponse => jsonResponse(200, { status: 'ok' })

  /** GET /peers: how many, never who or where. */
  peers = (): ApiResponse => jsonResponse(200, { peers: [], count: this.#peers.peerCount() })

  /** Older versions of the contract. */
  gone = (): never => {
    throw new HoldfastError('GONE', 'this version of the API is gone: use /api/v3')
  }
}
