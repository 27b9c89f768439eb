import type { Principal } from '../access/principal.ts'
import { checkTexts } from '../config/given-texts.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { UploadToken } from '../pins/pin-types.ts'
import type { Services } from './services.ts'

/** The cluster that a request names. The header takes precedence over the body, and the body over the query. */
export class RequestTarget {
  readonly #header: string | undefined
  readonly #query: string | undefined

  constructor(context: AuthenticatedContext) {
    this.#header = present(context.request.header('x-cluster'))
    checkTexts(this.#header, 'X-Cluster')
    this.#query = present(context.query.get('cl'))
  }

  /** @param body name of the cluster in the body */
  cluster(body?: string | null): string | undefined {
    return this.#header ?? present(body) ?? this.#query
  }

  /**
   * Checks the cluster in the header or query, before the body is read.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` if the account may not use the cluster
   */
  async check(pins: Services['pins'], accountId: string, fromNode = false): Promise<void> {
    const cluster = this.cluster()
    if (cluster !== undefined) await pins.checkTarget(accountId, { cluster, fromNode })
  }
}

/** Returns the trimmed value, or undefined for a missing or empty value. */
export function present(value: string | null | undefined): string | undefined {
  const trimmed = value?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}

/** Returns the upload token of the request, or undefined for any other credential. */
export function tokenOf({ credential }: Principal): UploadToken | undefined {
  return credential.upload === undefined ? undefined : { id: credential.id, ...credential.upload }
}
