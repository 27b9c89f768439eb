import type { Authenticator } from '../access/credentials/authenticator.ts'
import type { RateStatus, RequestLimits } from '../access/limits/request-limits.ts'
import type { Principal } from '../access/principal.ts'
import type { ScopePolicy } from '../access/scope-policy.ts'
import { firstTurn } from '../concurrency/turns.ts'
import { identifyRequest, renameWork } from '../concurrency/work.ts'
import { checkTexts } from '../config/given-texts.ts'
import { shareOf } from '../domain/address-share.ts'
import type { Clock } from '../domain/clock.ts'
import { type ErrorCode, HoldfastError, isHoldfastError } from '../domain/errors.ts'
import type { Logger } from '../domain/logger.ts'
import { type Metrics, silentMetrics } from '../domain/metrics.ts'
import { logAnswer } from './access-log.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from './api-messages.ts'
import { AuditedRequest, type AuditSink } from './audited-request.ts'
import { apiCorsHeaders, preflightResponse } from './cors.ts'
import { CountedBody } from './counted-body.ts'
import { CLIENT_GONE } from './error-codes.ts'
import { errorResponse, unixSeconds } from './error-response.ts'
import type { AuthenticatedContext, GoesTo, GuardedRoute, RequestContext, Route } from './route.ts'
import { type RouteMatch, Router } from './router.ts'

export interface ApiDependencies {
  routes: readonly Route[]
  authentication: Pick<Authenticator, 'authenticate'>
  authorization: Pick<ScopePolicy, 'check' | 'checkSession' | 'checkOwner' | 'checkNoUploadToken'>
  limits: Pick<RequestLimits, 'take' | 'takeFailure'>
  /** Where requests with an audited action are recorded. Null to record none. */
  audit?: AuditSink | null
  /** Null on a single node. */
  otherNodes?: OtherNodes | null
  /** Converts an error response to the format of the requested path. Default: no conversion. */
  errorAt?: (path: string, response: ApiResponse) => ApiResponse
  logger: Logger
  metrics?: Pick<Metrics, 'request' | 'answered' | 'finished'>
  clock: Clock
  newRequestId?: () => string
}

export interface OtherNodes {
  /**
   * Returns the response of another node, or the context for the handler if this node is responsible.
   *
   * @throws HoldfastError `UNAVAILABLE` if the other node cannot be reached; `OUTCOME_UNKNOWN` if its response was lost
   */
  answer(context: AuthenticatedContext, goesTo: GoesTo): Promise<ApiResponse | AuthenticatedContext>
}

/** State of a request that its response and its log line need. */
interface Exchange {
  readonly id: string
  readonly body: CountedBody
  route: string | null
  principal: Principal | null
  cid: string | undefined
  rate: RateStatus | null
  /** Null for a route without an audited action. */
  audited: AuditedRequest | null
}

/**
 * Creates the handler of all API requests. The API contract defines the order of the checks: route, credential, rate
 * limit, scope. The route's handler then checks the input, the plan and quota, and the records.
 */
export function createApi(dependencies: ApiDependencies): ApiHandler {
  const {
    logger,
    metrics = silentMetrics,
    clock,
    newRequestId = () => crypto.randomUUID(),
    errorAt = (_, response) => response,
  } = dependencies
  const router = new Router(dependencies.routes)
  const accessLog = { logger, metrics, clock }

  return async request => {
    const startedAt = clock.now()
    const trace = metrics.finished && identifyRequest()
    const exchange: Exchange = {
      id: request.forwarded?.requestId ?? newRequestId(),
      body: new CountedBody(request),
      route: null,
      principal: null,
      cid: undefined,
      rate: null,
      audited: null,
    }
    let response: ApiResponse
    let failure: unknown
    try {
      response = request.method === 'OPTIONS' ? preflightResponse(request) : await respond(request, exchange)
    } catch (error) {
      failure = request.signal.aborted ? error : counted(error, request)
      response = request.signal.aborted ? nobody : errorAt(request.path, errorResponse(failure, exchange.id))
    }
    if (exchange.audited !== null) await exchange.audited.end(failure, exchange.principal)
    return logAnswer(accessLog, {
      surface: 'api',
      request,
      response: finish(request, exchange, response),
      requestId: exchange.id,
      failure,
      account: exchange.principal?.account.id ?? null,
      credential: exchange.principal?.credential ?? null,
      cid: exchange.cid,
      route: exchange.route,
      source: sourceOf(request, exchange),
      bytesIn: exchange.body.bytes,
      startedAt,
      trace,
    })
  }

  async function respond(request: ApiRequest, exchange: Exchange): Promise<ApiResponse> {
    const match = router.match(request.method, request.path)
    exchange.route = match.route.path
    renameWork(`${request.method} ${match.route.path}`)
    const { audit } = dependencies
    if (audit != null && match.route.audit !== undefined) {
      exchange.audited = new AuditedRequest(audit, match.route.audit, request.remoteAddress, match.params)
    }
    const context = contextOf(request, exchange, match)
    const { remoteAddress } = request
    if (match.route.access === 'public') {
      await firstTurn(shareOf(remoteAddress), request.signal)
      return match.route.handler(context)
    }
    const credentials = { header: (name: string) => request.header(name), remoteAddress }
    const principal = await dependencies.authentication.authenticate(credentials)
    exchange.principal = principal
    // The forwarding node has already counted a forwarded request.
    if (request.forwarded === undefined) exchange.rate = await dependencies.limits.take(principal)
    authorize(principal, match.route)
    await firstTurn(principal.account.id, request.signal)
    return answer(match.route, { ...context, principal })
  }

  async function answer(route: GuardedRoute, context: AuthenticatedContext): Promise<ApiResponse> {
    const { otherNodes } = dependencies
    if (otherNodes == null || route.goesTo === undefined) return route.handler(context)
    const passed = await otherNodes.answer(context, route.goesTo)
    return 'status' in passed ? passed : route.handler(passed)
  }

  /** Counts a failed request against the client's address. Returns `RATE_LIMIT` after too many such requests. */
  function counted(error: unknown, { remoteAddress }: ApiRequest): unknown {
    if (!isHoldfastError(error) || !COUNTED.has(error.code)) return error
    try {
      dependencies.limits.takeFailure(remoteAddress)
      return error
    } catch (limited) {
      return limited
    }
  }

  function authorize(principal: Principal, { access, takesUploadTokens }: GuardedRoute): void {
    if (takesUploadTokens !== true) dependencies.authorization.checkNoUploadToken(principal)
    if (access === 'authenticated') return
    if (access === 'session') dependencies.authorization.checkSession(principal)
    else if (access === 'owner') dependencies.authorization.checkOwner(principal)
    else dependencies.authorization.check(principal, access)
  }
}

/** Errors that count against the client's address. */
const COUNTED: ReadonlySet<ErrorCode> = new Set([
  'INVALID_API_KEY',
  'VALIDATION',
  'UNSUPPORTED_MEDIA_TYPE',
  'REQUEST_TOO_LARGE',
])

const nobody: ApiResponse = { status: CLIENT_GONE, headers: {}, body: null }

function contextOf(request: ApiRequest, exchange: Exchange, match: RouteMatch): RequestContext {
  // Copied field by field, because a spread would drop the getters and methods of an adapter's class.
  const counted: ApiRequest = {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => request.header(name),
    body: exchange.body,
    arrived: () => exchange.body.arrived(),
    signal: request.signal,
    scheme: request.scheme,
    remoteAddress: request.remoteAddress,
    forwarded: request.forwarded,
  }
  return {
    request: counted,
    query: new QueryParameters(request.query),
    requestId: exchange.id,
    concerns: cid => {
      exchange.cid = cid
    },
    audits: note => exchange.audited?.note(note),
    param: name => {
      const value = match.params.get(name)
      if (value === undefined) throw new HoldfastError('INTERNAL_ERROR', `route ${match.route.path} has no ${name}`)
      return value
    },
  }
}

/** Returns the source for logs and metrics. Clients choose the source, so it must not grant permissions. */
function sourceOf(request: ApiRequest, exchange: Exchange): 'WEB' | 'JWT' | 'API_KEY' | null {
  if (request.header('x-request-source')?.trim().toLowerCase() === 'web') return 'WEB'
  if (exchange.principal === null) return null
  return exchange.principal.credential.kind === 'session' ? 'JWT' : 'API_KEY'
}

function finish(request: ApiRequest, exchange: Exchange, response: ApiResponse): ApiResponse {
  const headers: Record<string, string> = {
    ...apiCorsHeaders,
    'x-request-id': exchange.id,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  }
  if (exchange.rate !== null) {
    headers['x-ratelimit-limit'] = String(exchange.rate.limit)
    headers['x-ratelimit-remaining'] = String(exchange.rate.remaining)
    headers['x-ratelimit-reset'] = unixSeconds(exchange.rate.resetAt)
  }
  if (typeof response.body === 'string') headers['content-length'] = String(Buffer.byteLength(response.body))
  const body = request.method === 'HEAD' ? null : response.body
  return { status: response.status, headers: { ...headers, ...response.headers }, body }
}

/** Known parameters must not be repeated. */
class QueryParameters extends URLSearchParams {
  /** @throws HoldfastError `VALIDATION` for a repeated parameter, or characters that a catalogue cannot store */
  override get(name: string): string | null {
    const values = this.getAll(name)
    if (values.length > 1) throw new HoldfastError('VALIDATION', `${name} is in the query ${values.length} times`)
    const [value = null] = values
    checkTexts(value, `${name} in the query`)
    return value
  }
}
