import { HoldfastError } from '../domain/errors.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { ApiResponse } from '../http/types.ts'

/** What the service says of itself, without credentials. */
export class MetaRoutes {
  readonly #version: string

  constructor(version: string) {
    this.#version = version
  }

  /** GET {base}. */
  about = (): ApiResponse => jsonResponse(200, { name: 'holdfast', version: this.#version })

  /** GET /health. */
  health = (): ApiResponse => jsonResponse(200, { status: 'ok' })

  /** Older versions of the contract. */
  gone = (): never => {
    throw new HoldfastError('GONE', 'this version of the API is gone: use /api/v3')
  }
}
