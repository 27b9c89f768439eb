import { HoldfastError } from '../../src/domain/errors.ts'
import type { Page } from './account-answers.ts'
import type { UploadPage } from './answers.ts'
import { type AuditEntry, type AuditFilter, auditQuery } from './audit.ts' // feature: audit
import type { OwnedJob } from './bulk.ts' // feature: bulk
import { BASE_PATH, Connection, pathPart } from './connection.ts'
import type {
  AccountPage,
  BackupState,
  Collected,
  Failure,
  KnownNode,
  LostRecord,
  ManagedAccount,
  NewTakedown,
  NodeHistory,
  NodePeers,
  NodeStats,
  Takedown,
  TakenDown,
  Verified,
} from './owner-answers.ts'
import type { AccountPageOptions, CollectOptions, NewAccountOptions, VerifyOptions } from './owner-options.ts'
import { type ListOptions, listQueryOf } from './pins.ts'
import type { PageOptions } from './sessions.ts'
import type { OwnedDelivery } from './webhooks.ts' // feature: webhooks

const ADMIN_PATH = '/admin/v1'

/**
 * Administration of the node, at `/admin/v1` beside the API. Every method needs an owner's credential with every scope.
 *
 * @throws HoldfastError from every method: `OWNER_REQUIRED`, `missing_scope`; `VALIDATION` if the client's base does
 * not end in `/api/v3`
 */
export class Owner {
  readonly #connection: Connection

  /** @internal */
  constructor({ settings }: Connection) {
    const base = settings.base.endsWith(BASE_PATH) ? settings.base.slice(0, -BASE_PATH.length) + ADMIN_PATH : ''
    this.#connection = new Connection({ ...settings, base })
  }

  /** @example const stats = await client.owner.stats() */
  stats(signal?: AbortSignal): Promise<NodeStats> {
    return this.#json('GET', '/stats', { signal })
  }

  /**
   * Returns the recent activity of the node. A step of 60 seconds covers three hours, a step of 900 seconds three days.
   * @example const history = await client.owner.history(900)
   */
  history(stepSeconds: 60 | 900 = 60, signal?: AbortSignal): Promise<NodeHistory> {
    return this.#json('GET', '/history', { query: { step: String(stepSeconds) }, signal })
  }

  /**
   * Returns recent warnings and errors, newest first.
   * @example const failures = await client.owner.failures()
   */
  async failures(signal?: AbortSignal): Promise<Failure[]> {
    return (await this.#json<{ failures: Failure[] }>('GET', '/failures', { signal })).failures
  }

  /** @example const peers = await client.owner.peers() */
  peers(signal?: AbortSignal): Promise<NodePeers> {
    return this.#json('GET', '/peers', { signal })
  }

  /** Returns a page of accounts, oldest first. @example const accounts = await client.owner.accounts({ limit: 20 }) */
  accounts({ page, limit, signal }: AccountPageOptions = {}): Promise<AccountPage> {
    return this.#json('GET', '/accounts', { query: { page: page?.toString(), limit: limit?.toString() }, signal })
  }

  /**
   * Returns one page of an account's list, as `pins.page` does of the own one. Private records are part of it.
   * @throws HoldfastError `NOT_FOUND`, `VALIDATION`, `INVALID_CID` for a filter
   * @example const { uploads, total } = await client.owner.uploads(account, 1, { status: 'failed' })
   */
  uploads(id: string, page: number, options: ListOptions = {}): Promise<UploadPage> {
    const path = `/accounts/${pathPart(id, 'the id')}/uploads`
    return this.#json('GET', path, { query: listQueryOf(page, options), signal: options.signal })
  }

  /**
   * Creates an account. `token` is an API key with every scope, which no other response contains.
   *
   * @throws HoldfastError `CONFLICT` if another account has the email, `VALIDATION`
   * @example const { id, token } = await client.owner.createAccount({ email: 'ada@example.org', plan: 'free' })
   */
  createAccount(options: NewAccountOptions): Promise<ManagedAccount & { token: string }> {
    return this.#json('POST', '/accounts', { json: options })
  }

  /**
   * Changes the plan of an account.
   * @throws HoldfastError `NOT_FOUND`, `VALIDATION` for an unknown plan
   * @example await client.owner.setPlan(account, 'premium')
   */
  setPlan(id: string, plan: string): Promise<ManagedAccount> {
    return this.#json('PUT', `/accounts/${pathPart(id, 'the id')}/plan`, { json: { plan } })
  }

  /**
   * Disables an account and its content, or enables them again.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner
   * @example await client.owner.setDisabled(account, true)
   */
  setDisabled(id: string, isDisabled: boolean): Promise<ManagedAccount> {
    return this.#json('POST', `/accounts/${pathPart(id, 'the id')}/${isDisabled ? 'disable' : 'enable'}`)
  }

  /**
   * Ends all sessions of an account and returns their number. Keys stay valid.
   * @throws HoldfastError `NOT_FOUND`
   * @example const ended = await client.owner.endSessions(account)
   */
  async endSessions(id: string): Promise<number> {
    return (await this.#json<{ ended: number }>('DELETE', `/accounts/${pathPart(id, 'the id')}/sessions`)).ended
  }

  /**
   * Makes a link that sets the password of an account, once and within a day. It replaces the former link. The console
   * opens it at `/console/#/password?token=<token>`.
   *
   * @throws HoldfastError `NOT_FOUND`, `SESSION_REQUIRED` for an owner's account if the client uses a key
   * @example const { token } = await client.owner.makePasswordLink(account)
   */
  makePasswordLink(id: string): Promise<{ token: string; expiresAt: string }> {
    return this.#json('POST', `/accounts/${pathPart(id, 'the id')}/password-link`)
  }

  /**
   * Deletes an account. The server removes the account's pins soon afterwards.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner
   * @example await client.owner.deleteAccount(account)
   */
  async deleteAccount(id: string): Promise<void> {
    await this.#json('DELETE', `/accounts/${pathPart(id, 'the id')}`)
  }

  /**
   * Deletes unused content. A grace of 0 seconds includes content that was unpinned only a moment ago.
   * @example const { blocks } = await client.owner.collect({ graceSeconds: 0 })
   */
  collect({ graceSeconds, endUndo, signal }: CollectOptions = {}): Promise<Collected> {
    return this.#json('POST', '/gc', { json: { graceSeconds, endUndo }, idleMs: 0, signal })
  }

  /**
   * Reads and checks every block.
   * @throws HoldfastError `ABORTED` if `signal` aborts
   * @example const { damagedBlocks } = await client.owner.verify()
   */
  async verify({ onProgress, signal }: VerifyOptions = {}): Promise<Verified> {
    const headers = { accept: 'application/x-ndjson' }
    for await (const line of this.#owned().lines('POST', '/verify', { headers, signal })) {
      if (line.done === true) return line as unknown as Verified
      if (typeof line.code === 'string') throw new HoldfastError(line.code as 'INTERNAL_ERROR', String(line.message))
      onProgress?.(line as { blocks: number; bytes: number; damaged: number })
    }
    throw new HoldfastError('UNAVAILABLE', 'the answer broke off')
  }

  /** Returns a page of takedowns, oldest first. @example const { rows } = await client.owner.takedowns() */
  takedowns(options: PageOptions = {}): Promise<Page<Takedown>> {
    return this.#page('/takedowns', 'takedowns', options)
  }

  /**
   * Makes the gateway refuse a CID, or a path below it. `pending` names the nodes and threads that may still serve it.
   * @throws HoldfastError `INVALID_CID`, `VALIDATION`
   * @example await client.owner.takeDown({ cid, reason: 'court order 12/34', status: 451 })
   */
  async takeDown(takedown: NewTakedown): Promise<TakenDown> {
    return { pending: [], ...(await this.#json<Takedown>('POST', '/takedowns', { json: takedown })) }
  }

  /**
   * Lifts a takedown. `pending` names the nodes and threads that may still refuse the content.
   * @throws HoldfastError `NOT_FOUND`
   * @example await client.owner.liftTakedown({ cid })
   */
  async liftTakedown({ cid, path }: Pick<Takedown, 'cid'> & Partial<Takedown>): Promise<Pick<TakenDown, 'pending'>> {
    const options = { query: { path: path || undefined } }
    return { pending: [], ...(await this.#json<object>('DELETE', `/takedowns/${pathPart(cid, 'the CID')}`, options)) }
  }

  /**
   * Returns the progress of the running backup, and the time of the newest one.
   * @example const backups = await client.owner.backups()
   */
  backups(signal?: AbortSignal): Promise<BackupState> {
    return this.#json('GET', '/backups', { signal })
  }

  /**
   * Returns the nodes of the catalogue, also those that have ended. Empty for a single node.
   * @example const nodes = await client.owner.nodes()
   */
  async nodes(signal?: AbortSignal): Promise<KnownNode[]> {
    return (await this.#json<{ nodes: KnownNode[] }>('GET', '/nodes', { signal })).nodes
  }

  /**
   * Begins to move the content of a node to the node `to`. {@link nodes} shows the progress.
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a node is down, or a node was started with a cluster on it
   * @example await client.owner.retireNode('c', { to: 'b' })
   */
  async retireNode(id: string, { to }: { to: string }): Promise<void> {
    await this.#json('POST', `/nodes/${pathPart(id, 'the id')}/retire`, { json: { to } })
  }

  /**
   * Gives up a node whose disk is gone. With `isReplaced`, a new, empty directory will run under the id.
   * @throws HoldfastError `NOT_FOUND`; `CONFLICT` if a process runs as the node, or a configuration still names it
   * @example await client.owner.forgetNode('c')
   */
  async forgetNode(id: string, { isReplaced }: { isReplaced?: boolean } = {}): Promise<void> {
    await this.#json('POST', `/nodes/${pathPart(id, 'the id')}/forget`, { json: { isReplaced } })
  }

  /**
   * Lets records be private in a database of an earlier version. Afterwards, earlier versions refuse the database.
   * @throws HoldfastError `CONFLICT`, which names running nodes of an earlier version
   * @example await client.owner.enableVisibility()
   */
  async enableVisibility(): Promise<void> {
    await this.#json('POST', '/visibility')
  }

  /**
   * Returns a page of the records whose content was lost with a node, by account.
   * @example const { rows } = await client.owner.lostRecords({ limit: 20 })
   */
  lostRecords(options: PageOptions & { account?: string } = {}): Promise<Page<LostRecord>> {
    return this.#page('/lost', 'records', options)
  }

  // feature: bulk
  /** Returns a page of the jobs of all accounts, newest first. @example const { rows } = await client.owner.jobs() */
  jobs(options: PageOptions = {}): Promise<Page<OwnedJob>> {
    return this.#page('/jobs', 'jobs', options)
  }

  // feature: webhooks
  /**
   * Returns a page of the webhook deliveries of all accounts, newest first.
   * @example const { rows } = await client.owner.deliveries()
   */
  deliveries(options: PageOptions & { failed?: boolean } = {}): Promise<Page<OwnedDelivery>> {
    return this.#page('/deliveries', 'deliveries', options)
  }

  /** Sends a failed delivery again. @throws HoldfastError `NOT_FOUND` @example await client.owner.resend(id) */
  async resend(id: string): Promise<void> {
    await this.#json('POST', `/deliveries/${pathPart(id, 'the id')}/resend`)
  }

  // feature: audit
  /**
   * Returns a page of the audit log, newest first. A page may be empty although another page follows.
   * @example const { rows } = await client.owner.audit({ limit: 20 })
   */
  audit({ after, limit, signal, ...filter }: AuditFilter & PageOptions = {}): Promise<Page<AuditEntry>> {
    const options = { ...auditQuery(filter), after, limit, signal }
    return this.#page('/audit', 'entries', options)
  }

  /**
   * Yields the bytes of a file with all entries of the audit log that match.
   * @example for await (const bytes of client.owner.exportAudit('csv')) process.stdout.write(bytes)
   */
  exportAudit(
    format: 'jsonl' | 'csv',
    { signal, ...filter }: AuditFilter & { signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<Uint8Array, void> {
    return this.#owned().bytes('GET', '/audit', { query: { ...auditQuery(filter), format }, signal })
  }

  // end
  async #json<Answer extends object>(...request: Parameters<Connection['json']>): Promise<Answer> {
    return this.#owned().json<Answer>(...request)
  }

  async #page<Row>(...request: Parameters<Connection['page']>): Promise<Page<Row>> {
    return this.#owned().page<Row>(...request)
  }

  #owned(): Connection {
    if (this.#connection.settings.base === '') {
      throw new HoldfastError('VALIDATION', `the base must end in ${BASE_PATH} for what the owner does`)
    }
    return this.#connection
  }
}
