import type { Principal, Scope } from '../access/principal.ts'
import type { FormBody } from '../domain/form-body.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'

/** Credential that a route needs: none, any valid one, a session, one of the node's owner, or one with this scope. */
export type Access = 'public' | 'authenticated' | 'session' | 'owner' | Scope

/** Input of a handler. */
export interface RequestContext {
  readonly request: ApiRequest
  readonly query: URLSearchParams
  readonly requestId: string
  /** Sets the CID of the request's content, for its log line. */
  concerns(cid: string): void
  /** Returns a percent-decoded parameter of the route's path. */
  param(name: string): string
}

export interface AuthenticatedContext extends RequestContext {
  readonly principal: Principal
  /** Forwards this request to another node, with a parsed form in place of its body. Absent on a single node. */
  readonly handOver?: (form: HandedOver) => Promise<ApiResponse>
}

/** A parsed form for another node. The field that names the node came last. */
export interface HandedOver extends FormBody {
  /** Id of the node. */
  readonly node: string
  /** The cluster that the form names; undefined for the account's default cluster. */
  readonly cluster: string | undefined
  readonly signal: AbortSignal
}

/** The responsible node: that of the named cluster, or that of the default cluster. */
export type GoesTo = 'cluster' | 'default cluster'

interface Row {
  /** Upper case, or `*` for all. A GET route also answers HEAD. */
  readonly method: string
  /** `:name` matches one segment. `*name`, at the end, matches the rest, including slashes and an empty rest. */
  readonly path: string
  /** True if upload tokens may call it, within their scope. Default false. */
  readonly takesUploadTokens?: boolean
  /** The responsible node, if not every node may answer. */
  readonly goesTo?: GoesTo | undefined
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
