import type { AuditAction } from '../access/audit-actions.ts'
import type { Account, Principal, Scope } from '../access/principal.ts'
import type { FormBody } from '../domain/form-body.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'

/**
 * The credential that a route requires. `authenticated` accepts every valid credential, `owner` only credentials of the
 * node's owner. A scope accepts only credentials with that scope.
 */
export type Access = 'public' | 'authenticated' | 'session' | 'owner' | Scope

export interface RequestContext {
  readonly request: ApiRequest
  readonly query: URLSearchParams
  readonly requestId: string
  /** Sets the CID in the log line of the request. */
  concerns(cid: string): void
  /** Adds to the audited action of the request. Without effect for a route that has none. */
  audits(note: AuditNote): void
  param(name: string): string
}

/** Facts about an audited action that only the handler of its route knows. */
export interface AuditNote {
  /** The account of a public route: the account that a sign-in names, or that the route has changed. */
  account?: Pick<Account, 'id' | 'role'>
  /** Id, CID or name of the changed thing. Default: the first parameter of the path. */
  subject?: string
  /** Default: `ok`. */
  outcome?: string
  /** Settles with the action, if it goes on after the beginning of the response. */
  ended?: Promise<unknown>
}

export interface AuthenticatedContext extends RequestContext {
  readonly principal: Principal
  /** Forwards this request, with the parsed form as the body. Undefined on a single node. */
  readonly handOver?: (form: HandedOver) => Promise<ApiResponse>
}

/** A parsed form to forward, for requests whose responsible node is known only after the form has been read. */
export interface HandedOver extends FormBody {
  /** Id of the node that receives the form. */
  readonly node: string
  /** Cluster that the form names. Undefined means the default cluster of the account. */
  readonly cluster: string | undefined
  readonly signal: AbortSignal
}

/** Which node must handle a request: the node of the cluster that the request names, or of the default cluster. */
export type GoesTo = 'cluster' | 'default cluster'

interface Row {
  /** HTTP method, or `*` for all methods. A GET route also handles HEAD. */
  readonly method: string
  /** `:name` matches one segment, `*name` the rest of the path, even if empty. */
  readonly path: string
  /** True if upload tokens with the required scope may call the route. */
  readonly takesUploadTokens?: boolean
  /** Undefined if any node may handle the request. */
  readonly goesTo?: GoesTo | undefined
  /** Undefined for a route that is not audited. */
  readonly audit?: AuditAction | undefined
}

export interface PublicRoute extends Row {
  readonly access: 'public'
  readonly handler: (context: RequestContext) => Promise<ApiResponse> | ApiResponse
}

export interface GuardedRoute extends Row {
  readonly access: Exclude<Access, 'public'>
  readonly handler: (context: AuthenticatedContext) => Promise<ApiResponse> | ApiResponse
}

export type Route = PublicRoute | GuardedRoute
