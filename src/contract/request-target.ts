import type { Principal } from '../access/principal.ts'
import { checkTexts } from '../config/given-texts.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { UploadToken } from '../pins/pin-types.ts'
import type { ServedPins } from './services.ts'

/** Where a request says its cluster: the header wins over the body, which wins over the query. Empty is absent. */
export class RequestTarget {
  readonly #header: string | undefined
  readonly #query: string | undefined

  constructor(context: AuthenticatedContext) {
    this.#header = present(context.request.header('x-cluster'))
    checkTexts(this.#header, 'X-Cluster')
    this.#query = present(context.query.get('cl'))
  }

  /** The cluster, given what the body says. */
  cluster(body?: string | null): string | undefined {
    return this.#header ?? present(body) ?? this.#query
  }

  /** Refuses, before the body is read, what can be refused by then. Throws `CLUSTER_NOT_ALLOWED`. */
  async check(pins: ServedPins, accountId: string, fromNode = false): Promise<void> {
    const cluster = this.cluster()
    if (cluster !== undefined) await pins.checkTarget(accountId, { cluster, fromNode })
  }
}

/** Trimmed; undefined for what is missing or empty. */
export function present(value: string | null | undefined): string | undefined {
  const trimmed = value?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}

/** The upload token that a request is made by, if it is one. */
export function tokenOf({ credential }: Principal): UploadToken | undefined {
  return credential.upload === undefined ? undefined : { id: credential.id, ...credential.upload }
}
