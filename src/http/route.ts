import type { Principal, Scope } from '../access/principal.ts'
import type { FormBody } from '../domain/form-body.ts'
import type { ApiRequest, ApiResponse } from './api-messages.ts'

/**
 * Who may call a route: anybody, anybody with a valid credential, whoever is signed in, the owner of the node, or a
 * credential with this scope.
 */
export type Access = 'public' | 'authenticated' | 'session' | 'owner' | Scope

/** What a handler is given. */
export interface RequestContext {
  readonly request: ApiRequest
  readonly query: URLSearchParams
  readonly requestId: string
  /** Notes what content the request is about, for its line in the log. */
  concerns(cid: string): void
  /** A parameter of the route's path, percent-decoded. */
  param(name: string): string
}

export interface AuthenticatedContext extends RequestContext {
  readonly principal: Principal
  /** Has another node answer this request by a form in place of its body. Not there where the node is the only one. */
  readonly handOver?: (form: HandedOver) => Promise<ApiResponse>
}

/** What another node is given once all of a form has been read, at whose end it was named. */
export interface HandedOver extends FormBody {
  /** Its id. */
  readonly node: string
  /** What the form named; undefined for the account's default cluster. */
  readonly cluster: string | undefined
  readonly signal: AbortSignal
}

/** The node that keeps the cluster which a request names, or the one that requests go to which name none. */
export type GoesTo = 'cluster' | 'default cluster'

interface Row {
  /** Upper case, or `*` for all. A route for GET answers HEAD too. */
  readonly method: string
  /** `:name` takes one segment; `*name`, last, takes all that follow, slashes and nothing included. */
  readonly path: string
  /** Whether upload tokens may, as far as their scope goes. Default false. */
  readonly takesUploadTokens?: boolean
  /** Which of several nodes answers, where not any of them does. */
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
