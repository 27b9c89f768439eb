import type { Principal } from '../access/principal.ts'
import { checkTexts } from '../config/given-texts.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { UploadToken } from '../pins/pin-types.ts'
import type { ServedPins } from './services.ts'

/**
 * The cluster that a request names. The header overrides the body, and the body overrides the query. Empty counts as
 * missing.
 */
export class RequestTarget {
  readonly #header: string | undefined
  readonly #query: string | undefined

  constructor(context: AuthenticatedContext) {
    this.#header = present(context.request.header('x-cluster'))
    checkTexts(this.#header, 'X-Cluster')
    this.#query = present(context.query.get('cl'))
  }

  /** Returns the cluster, given the body's value. */
  cluster(body?: string | null): string | undefined {
    return this.#header ?? present(body) ?? this.#query
  }

  /**
   * Checks the target as far as possible before the body is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`
   */
  async check(pins: ServedPins, accountId: string, fromNode = false): Promise<void> {
    const cluster = this.cluster()
    if (cluster !== undefined) await pins.checkTarget(accountId, { cluster, fromNode })
  }
}

/** Trims a value; undefined if it is missing or empty. */
export function present(value: string | null | undefined): string | undefined {
  const trimmed = value?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}

/** Returns the upload token of a request; undefined for another credential. */
export function tokenOf({ credential }: Principal): UploadToken | undefined {
  return credential.upload === undefined ? undefined : { id: credential.id, ...credential.upload }
}
