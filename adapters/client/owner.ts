import { HoldfastError } from '../../src/domain/errors.ts'
import type { Page } from './account-answers.ts'
import { Connection, pathPart } from './connection.ts'
import type {
  AccountPage,
  Collected,
  Failure,
  ManagedAccount,
  NodeHistory,
  NodePeers,
  NodeStats,
  Takedown,
  Verified,
} from './owner-answers.ts'
import type { PageOptions } from './sessions.ts'

const BASE_PATH = '/api/v3'
const ADMIN_PATH = '/admin/v1'

/** A new account. */
export interface NewAccountOptions {
  email: string
  /** Name of a plan. */
  plan: string
  name?: string | undefined
  /** Password for signing in; without one the account has only keys. */
  password?: string | undefined
}

/** Options of a verification. */
export interface VerifyOptions {
  /** Receives the progress after each step. */
  onProgress?: ((progress: { blocks: number; bytes: number; damaged: number }) => void) | undefined
  /** Ends the verification. */
  signal?: AbortSignal | undefined
}

/**
 * Administration of the node, at `/admin/v1` beside the API. It needs a credential of the owner with every scope.
 *
 * @throws HoldfastError of every method: `OWNER_REQUIRED`, `missing_scope`; `VALIDATION` if the client's base is not
 * that of an API
 */
export class Owner {
  readonly #connection: Connection

  /** @internal */
  constructor({ settings }: Connection) {
    const base = settings.base.endsWith(BASE_PATH) ? settings.base.slice(0, -BASE_PATH.length) + ADMIN_PATH : ''
    this.#connection = new Connection({ ...settings, base })
  }

  /** Returns statistics of the node. */
  stats(signal?: AbortSignal): Promise<NodeStats> {
    return this.#json('GET', '/stats', { signal })
  }

  /** Returns the recent activity: three hours by the minute, or three days by 900 seconds. */
  history(stepSeconds: 60 | 900 = 60, signal?: AbortSignal): Promise<NodeHistory> {
    return this.#json('GET', '/history', { query: { step: String(stepSeconds) }, signal })
  }

  /** Returns recent failures, the newest first. */
  async failures(signal?: AbortSignal): Promise<Failure[]> {
    return (await this.#json<{ failures: Failure[] }>('GET', '/failures', { signal })).failures
  }

  /** Returns the connections of the node, and its addresses. */
  peers(signal?: AbortSignal): Promise<NodePeers> {
    return this.#json('GET', '/peers', { signal })
  }

  /** Returns a page of accounts, the oldest first; `limit` is 100 by default, at most 1,000. */
  accounts({
    page,
    limit,
    signal,
  }: {
    page?: number
    limit?: number
    signal?: AbortSignal
  } = {}): Promise<AccountPage> {
    return this.#json('GET', '/accounts', { query: { page: page?.toString(), limit: limit?.toString() }, signal })
  }

  /**
   * Creates an account. `token` is a key with every scope, which no other answer contains. @throws HoldfastError
   * `CONFLICT`, `VALIDATION`
   */
  createAccount(options: NewAccountOptions): Promise<ManagedAccount & { token: string }> {
    return this.#json('POST', '/accounts', { json: options })
  }

  /** Changes the plan of an account. @throws HoldfastError `NOT_FOUND`, `VALIDATION` for an unknown plan */
  setPlan(id: string, plan: string): Promise<ManagedAccount> {
    return this.#json('PUT', `/accounts/${pathPart(id, 'the id')}/plan`, { json: { plan } })
  }

  /**
   * Disables an account and its content, or enables it. @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last
   * owner
   */
  setDisabled(id: string, isDisabled: boolean): Promise<ManagedAccount> {
    return this.#json('POST', `/accounts/${pathPart(id, 'the id')}/${isDisabled ? 'disable' : 'enable'}`)
  }

  /** Ends all sessions of an account, but not its keys. Returns how many ended. @throws HoldfastError `NOT_FOUND` */
  async endSessions(id: string): Promise<number> {
    return (await this.#json<{ ended: number }>('DELETE', `/accounts/${pathPart(id, 'the id')}/sessions`)).ended
  }

  /**
   * Deletes an account; its pins follow soon after. @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner
   */
  async deleteAccount(id: string): Promise<void> {
    await this.#json('DELETE', `/accounts/${pathPart(id, 'the id')}`)
  }

  /** Deletes unused content; with a grace of 0 also content unpinned just now. */
  collect({ graceSeconds, signal }: { graceSeconds?: number; signal?: AbortSignal } = {}): Promise<Collected> {
    // The answer arrives only at the end, however long the collection takes.
    return this.#json('POST', '/gc', { json: { graceSeconds }, idleMs: 0, signal })
  }

  /** Reads and checks every block. @throws HoldfastError `ABORTED` */
  async verify({ onProgress, signal }: VerifyOptions = {}): Promise<Verified> {
    const headers = { accept: 'application/x-ndjson' }
    for await (const line of this.#owned().lines('POST', '/verify', { headers, signal })) {
      if (line.done === true) return line as unknown as Verified
      if (typeof line.code === 'string') throw new HoldfastError(line.code as 'INTERNAL_ERROR', String(line.message))
      onProgress?.(line as { blocks: number; bytes: number; damaged: number })
    }
    throw new HoldfastError('UNAVAILABLE', 'the answer broke off')
  }

  /** Returns a page of takedowns, the oldest first. */
  async takedowns({ after, limit, signal }: PageOptions = {}): Promise<Page<Takedown>> {
    const query = { after, limit: limit?.toString() }
    const answer = await this.#json<{ takedowns: Takedown[]; next: string | null }>('GET', '/takedowns', {
      query,
      signal,
    })
    return { rows: answer.takedowns, next: answer.next }
  }

  /** Makes the gateway refuse a CID, or a path below it. @throws HoldfastError `INVALID_CID`, `VALIDATION` */
  takeDown(takedown: Pick<Takedown, 'cid' | 'reason'> & Partial<Pick<Takedown, 'path' | 'status'>>): Promise<Takedown> {
    return this.#json('POST', '/takedowns', { json: takedown })
  }

  /** Lifts a takedown. @throws HoldfastError `NOT_FOUND` */
  async liftTakedown({ cid, path }: Pick<Takedown, 'cid'> & Partial<Pick<Takedown, 'path'>>): Promise<void> {
    await this.#json('DELETE', `/takedowns/${pathPart(cid, 'the CID')}`, { query: { path: path || undefined } })
  }

  async #json<Answer extends object>(...request: Parameters<Connection['json']>): Promise<Answer> {
    return this.#owned().json<Answer>(...request)
  }

  #owned(): Connection {
    if (this.#connection.settings.base === '') {
      throw new HoldfastError('VALIDATION', `the base must end in ${BASE_PATH} for what the owner does`)
    }
    return this.#connection
  }
}
