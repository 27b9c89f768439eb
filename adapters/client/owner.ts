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

/** An account to be made. */
export interface NewAccountOptions {
  email: string
  /** Name of a plan. */
  plan: string
  name?: string | undefined
  /** Without one there is no signing in, only keys. */
  password?: string | undefined
}

/** How a verification is followed. */
export interface VerifyOptions {
  /** Told after each step what has been read so far. */
  onProgress?: ((progress: { blocks: number; bytes: number; damaged: number }) => void) | undefined
  /** Ends it. */
  signal?: AbortSignal | undefined
}

/**
 * The node as its owner runs it, at `/admin/v1` beside the API. It takes a credential of the owner with every scope.
 *
 * @throws HoldfastError of every method: `OWNER_REQUIRED`, `missing_scope`; `VALIDATION` where the base of the client is
 * not that of an API
 */
export class Owner {
  readonly #connection: Connection

  /** @internal */
  constructor({ settings }: Connection) {
    const base = settings.base.endsWith(BASE_PATH) ? settings.base.slice(0, -BASE_PATH.length) + ADMIN_PATH : ''
    this.#connection = new Connection({ ...settings, base })
  }

  /** How much the node holds. */
  stats(signal?: AbortSignal): Promise<NodeStats> {
    return this.#json('GET', '/stats', { signal })
  }

  /** What it has done lately: three hours by the minute, or three days by 900 seconds. */
  history(stepSeconds: 60 | 900 = 60, signal?: AbortSignal): Promise<NodeHistory> {
    return this.#json('GET', '/history', { query: { step: String(stepSeconds) }, signal })
  }

  /** What went wrong lately, the newest first. */
  async failures(signal?: AbortSignal): Promise<Failure[]> {
    return (await this.#json<{ failures: Failure[] }>('GET', '/failures', { signal })).failures
  }

  /** Who is connected, and how the node is reached. */
  peers(signal?: AbortSignal): Promise<NodePeers> {
    return this.#json('GET', '/peers', { signal })
  }

  /** A page of accounts, the oldest first; `limit` 100 unless given, at most 1,000. */
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

  /** Makes an account. `token` is a key of it with every scope, told this once. @throws HoldfastError `CONFLICT`, `VALIDATION` */
  createAccount(options: NewAccountOptions): Promise<ManagedAccount & { token: string }> {
    return this.#json('POST', '/accounts', { json: options })
  }

  /** @throws HoldfastError `NOT_FOUND`, `VALIDATION` for an unknown plan */
  setPlan(id: string, plan: string): Promise<ManagedAccount> {
    return this.#json('PUT', `/accounts/${pathPart(id, 'the id')}/plan`, { json: { plan } })
  }

  /** Refuses it, with all that it keeps, or lets it in again. @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner */
  setDisabled(id: string, isDisabled: boolean): Promise<ManagedAccount> {
    return this.#json('POST', `/accounts/${pathPart(id, 'the id')}/${isDisabled ? 'disable' : 'enable'}`)
  }

  /** Signs it out everywhere; its keys are not affected. Returns how many have ended. @throws HoldfastError `NOT_FOUND` */
  async endSessions(id: string): Promise<number> {
    return (await this.#json<{ ended: number }>('DELETE', `/accounts/${pathPart(id, 'the id')}/sessions`)).ended
  }

  /** Its pins go soon after. @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner */
  async deleteAccount(id: string): Promise<void> {
    await this.#json('DELETE', `/accounts/${pathPart(id, 'the id')}`)
  }

  /** Frees what nothing needs any more; with a grace of 0 also what was let go just now. */
  collect({ graceSeconds, signal }: { graceSeconds?: number; signal?: AbortSignal } = {}): Promise<Collected> {
    // Nothing is heard until everything is freed.
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

  /** A page of what the gateway refuses, the oldest first. */
  async takedowns({ after, limit, signal }: PageOptions = {}): Promise<Page<Takedown>> {
    const query = { after, limit: limit?.toString() }
    const answer = await this.#json<{ takedowns: Takedown[]; next: string | null }>('GET', '/takedowns', {
      query,
      signal,
    })
    return { rows: answer.takedowns, next: answer.next }
  }

  /** Has the gateway refuse a CID, or a path below it. @throws HoldfastError `INVALID_CID`, `VALIDATION` */
  takeDown(takedown: Pick<Takedown, 'cid' | 'reason'> & Partial<Pick<Takedown, 'path' | 'status'>>): Promise<Takedown> {
    return this.#json('POST', '/takedowns', { json: takedown })
  }

  /** Lets it be served again. @throws HoldfastError `NOT_FOUND` */
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
