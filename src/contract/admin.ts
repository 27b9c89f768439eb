import { Type } from 'typebox'
import type { AccountService } from '../access/account-service.ts'
import type { BackupOutcome } from '../backup/back-up.ts'
import type { Backups } from '../backup/backups.ts'
import type { Collector } from '../content/collector.ts'
import type { Verified, Verifier } from '../content/verifier.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiRequest, ApiResponse } from '../http/types.ts'
import type { Statistics } from '../pins/statistics.ts'
import type { Reconciled, Reconciler } from '../upkeep/reconciler.ts'
import { pageRequest, positiveInteger } from './page-query.ts'
import { presentManagedAccount, presentSessions } from './presenters.ts'
import { progressLines } from './progress-lines.ts'
import { bodyReader, required } from './schemas.ts'
import type { Pins, SessionLists } from './services.ts'

/** What the owner's handlers are made of. */
export interface AdminServices {
  statistics: Pick<Statistics, 'read'>
  collector: Pick<Collector, 'collect'>
  verifier: Pick<Verifier, 'verify'>
  reconciler: Pick<Reconciler, 'run'>
  backups: Pick<Backups, 'runBelowRoots'>
  accounts: Pick<AccountService, 'page' | 'get' | 'setDisabled' | 'delete'>
  sessions: SessionLists
  pins: Pick<Pins, 'usage'>
}

const PAGE_ROWS = 100
const MOST_PAGE_ROWS = 1_000
const YEAR_SECONDS = 31_536_000

const readCollectBody = bodyReader(
  Type.Object({ graceSeconds: Type.Optional(Type.Number({ minimum: 0, maximum: YEAR_SECONDS })) }),
)

const readBackupBody = bodyReader(Type.Object({ directory: required }))

const readReconcileBody = bodyReader(
  Type.Object({ dryRun: Type.Optional(Type.Boolean()), force: Type.Optional(Type.Boolean()) }),
)

/** What the owner of a node may see of all of it, and have done to it. */
export class AdminRoutes {
  readonly #services: AdminServices

  constructor(services: AdminServices) {
    this.#services = services
  }

  /** GET /stats. */
  stats = async (): Promise<ApiResponse> => jsonResponse(200, await this.#services.statistics.read())

  /** POST /gc. */
  collect = async ({ request }: AuthenticatedContext): Promise<ApiResponse> => {
    const { graceSeconds } = await readCollectBody(request)
    const graceMs = graceSeconds === undefined ? undefined : graceSeconds * 1_000
    return jsonResponse(200, await this.#services.collector.collect(graceMs))
  }

  /** POST /verify: the outcome, or for who accepts `application/x-ndjson` a line after each step and the outcome last. */
  verify = async ({ request, requestId }: AuthenticatedContext): Promise<ApiResponse> => {
    const { verifier } = this.#services
    if (!wantsLines(request)) {
      return jsonResponse(200, await verifier.verify({ signal: request.signal }))
    }
    const lines = progressLines<object, Verified>(requestId, (onProgress, unread) =>
      verifier.verify({ signal: AbortSignal.any([request.signal, unread]), onProgress }),
    )
    return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines }
  }

  /** POST /backup: lines as those of {@link verify}. */
  backup = async ({ request, requestId }: AuthenticatedContext): Promise<ApiResponse> => {
    const { directory } = await readBackupBody(request)
    const { backups } = this.#services
    if (!wantsLines(request)) {
      return jsonResponse(200, await backups.runBelowRoots(directory, { signal: request.signal }))
    }
    const lines = progressLines<object, BackupOutcome>(requestId, (onProgress, unread) =>
      backups.runBelowRoots(directory, { signal: AbortSignal.any([request.signal, unread]), onProgress }),
    )
    return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines }
  }

  /** POST /reconcile: lines as those of {@link verify}. */
  reconcile = async ({ request, requestId }: AuthenticatedContext): Promise<ApiResponse> => {
    const options = await readReconcileBody(request)
    const { reconciler } = this.#services
    if (!wantsLines(request)) {
      return jsonResponse(200, await reconciler.run({ ...options, signal: request.signal }))
    }
    const lines = progressLines<object, Reconciled>(requestId, (onProgress, unread) =>
      reconciler.run({ ...options, signal: AbortSignal.any([request.signal, unread]), onProgress }),
    )
    return { status: 200, headers: { 'content-type': 'application/x-ndjson' }, body: lines }
  }

  /** GET /accounts: oldest first. */
  accounts = async ({ query }: AuthenticatedContext): Promise<ApiResponse> => {
    const page = positiveInteger(query, 'page') ?? 1
    const limit = Math.min(positiveInteger(query, 'limit') ?? PAGE_ROWS, MOST_PAGE_ROWS)
    // Far beyond the last page SQLite would be asked for an offset that it cannot count to.
    const offset = Math.min((page - 1) * limit, Number.MAX_SAFE_INTEGER)
    const { accounts, total } = await this.#services.accounts.page(offset, limit)
    const { pins } = this.#services
    const rows = await Promise.all(
      accounts.map(async account => presentManagedAccount(account, await pins.usage(account.id))),
    )
    return jsonResponse(200, {
      accounts: rows,
      total,
      pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
    })
  }

  /** POST /accounts/:id/disable: its keys and sessions are refused from then on, its content stays. */
  disable = (context: AuthenticatedContext): Promise<ApiResponse> => this.#setDisabled(context, true)

  /** POST /accounts/:id/enable. */
  enable = (context: AuthenticatedContext): Promise<ApiResponse> => this.#setDisabled(context, false)

  /** DELETE /accounts/:id: it is gone when this is answered, its content soon after. */
  delete = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const id = context.param('id')
    await this.#services.accounts.delete(id)
    return jsonResponse(200, { id, deleted: true })
  }

  /** GET /accounts/:id/sessions. */
  sessions = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { id } = await this.#services.accounts.get(context.param('id'))
    const page = await this.#services.sessions.list(id, pageRequest(context.query))
    return jsonResponse(200, presentSessions(page, context.principal.credential.id))
  }

  /** DELETE /accounts/:id/sessions: all of them. */
  endSessions = async (context: AuthenticatedContext): Promise<ApiResponse> => {
    const { id } = await this.#services.accounts.get(context.param('id'))
    return jsonResponse(200, { ended: await this.#services.sessions.endAll(id) })
  }

  async #setDisabled(context: AuthenticatedContext, disabled: boolean): Promise<ApiResponse> {
    const account = await this.#services.accounts.setDisabled(context.param('id'), disabled)
    return jsonResponse(200, presentManagedAccount(account, await this.#services.pins.usage(account.id)))
  }
}

function wantsLines(request: ApiRequest): boolean {
  return /\bapplication\/x-ndjson\b/i.test(request.header('accept') ?? '')
}
