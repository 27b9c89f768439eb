import type { AuditAction } from '../access/audit-actions.ts'
import type { Account, Credential, Principal } from '../access/principal.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { publicError } from './error-response.ts'
import type { AuditNote } from './route.ts'

/** One audited action of a request. */
export interface AuditedAction {
  action: AuditAction
  /** `ok`, or the code of the error. */
  outcome: string
  /** The authenticated account, or the account that a sign-in named. Null if unknown. */
  account: Pick<Account, 'id' | 'role'> | null
  /** Null without an authenticated credential. */
  credential: Pick<Credential, 'kind' | 'id'> | null
  /** Address of the client, after the rule of trusted proxies. */
  address: string | undefined
  /** Null if the action failed. */
  subject: string | null
}

/** Records audited actions. */
export interface AuditSink {
  /** Resolves when the entry is durable, or cannot be soon. Never throws. */
  record(action: AuditedAction): Promise<void>
}

const OK = 'ok'

/** The audited action of one request. */
export class AuditedRequest {
  readonly #log: AuditSink
  readonly #action: AuditAction
  readonly #address: string | undefined
  readonly #params: ReadonlyMap<string, string>
  #note: AuditNote = {}

  constructor(log: AuditSink, action: AuditAction, address: string | undefined, params: ReadonlyMap<string, string>) {
    this.#log = log
    this.#action = action
    this.#address = address
    this.#params = params
  }

  note(note: AuditNote): void {
    this.#note = { ...this.#note, ...note }
  }

  /**
   * Records the action. If it goes on after the beginning of the response, records it at its end.
   *
   * @param failure the error of the request; undefined without one
   */
  async end(failure: unknown, principal: Principal | null): Promise<void> {
    const { ended } = this.#note
    if (failure !== undefined) return this.#record(codeOf(failure), principal)
    if (ended === undefined) return this.#record(this.#note.outcome ?? OK, principal)
    void ended.then(
      () => this.#record(OK, principal),
      (error: unknown) => this.#record(codeOf(error), principal),
    )
  }

  #record(outcome: string, principal: Principal | null): Promise<void> {
    const [first = null] = this.#params.values()
    return this.#log.record({
      action: this.#action,
      outcome,
      account: principal?.account ?? this.#note.account ?? null,
      credential: principal?.credential ?? null,
      address: this.#address,
      // The text of a refused request is the client's, and may be a secret.
      subject: outcome === OK ? (this.#note.subject ?? first) : null,
    })
  }
}

/** Returns the code of an error. An aborted action has no other code. */
function codeOf(error: unknown): string {
  return isHoldfastError(error) || !isAbort(error) ? publicError(error).code : 'ABORTED'
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}
