import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { ApiResponse } from '../http/types.ts'
import type { Health, Peers } from './services.ts'

/** What the service says of itself, without credentials. */
export class MetaRoutes {
  readonly #version: string

  readonly #peers: Peers

  readonly #health: Health

  constructor(version: string, peers: Peers, health: Health) {
    this.#health = health
    this.#version = version
    this.#peers = peers
  }

  /** GET {base}. */
  about = (): ApiResponse => jsonResponse(200, { name: 'holdfast', version: this.#version })

  /** GET /health: 503 only where a restart is what helps. */
  health = (): ApiResponse => {
    const status = this.#health.status()
    return jsonResponse(status === 'failed' ? 503 : 200, { status })
  }

  /** GET /peers: how many, never who or where. */
  peers = (): ApiResponse => jsonResponse(200, { peers: [], count: this.#peers.peerCount() })

  /** Older versions of the contract. */
  gone = (): never => {
    throw new HoldfastError('GONE', 'this version of the API is gone: use /api/v3')
  }
}
