import type { AuthenticatedContext } from '../http/route.ts'
import type { Pins } from './services.ts'

/** Where a request says its cluster: the header wins over the body, which wins over the query. Empty is absent. */
export class RequestTarget {
  readonly #header: string | undefined
  readonly #query: string | undefined

  constructor(context: AuthenticatedContext) {
    this.#header = present(context.request.header('x-cluster'))
    this.#query = present(context.query.get('cl'))
  }

  /** The cluster, given what the body says. */
  cluster(body?: string | null): string | undefined {
    return this.#header ?? present(body) ?? this.#query
  }

  /** Refuses, before the body is read, what can be refused by then. Throws `CLUSTER_NOT_ALLOWED`. */
  async check(pins: Pins, accountId: string, fromNode = false): Promise<void> {
    const cluster = this.cluster()
    if (cluster !== undefined) await pins.checkTarget(accountId, { cluster, fromNode })
  }
}

/** Trimmed; undefined for what is missing or empty. */
export function present(value: string | null | undefined): string | undefined {
  const trimmed = value?.trim()
  return trimmed === undefined || trimmed === '' ? undefined : trimmed
}
