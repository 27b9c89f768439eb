import { randomUUID } from 'node:crypto'
import { MemoryBudget } from '../concurrency/capacity/memory-budget.ts'
import { Slots } from '../concurrency/slots/slots.ts'
import { firstTurn } from '../concurrency/turns.ts'
import { renameWork } from '../concurrency/work.ts'
import type { CompleteConfig } from '../config/config.ts'
import type { WalkLimits } from '../content/dag/ordered-walk.ts'
import type { LiveContent } from '../content/live-content.ts'
import type { KnownRevision } from '../content/revision-log.ts'
import { shareOf } from '../domain/address-share.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import { type Metrics, silentMetrics } from '../domain/metrics.ts'
import { logAnswer } from '../http/access-log.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../http/api-messages.ts'
import { CLIENT_GONE } from '../http/error-codes.ts'
import { StreamBody } from '../http/stream-body.ts'
import type { BlockFetcher } from '../network/block-fetcher.ts'
import type { ContentPath } from './http/content-path.ts'
import { chooseFormat, contentLocation, type FormatChoice } from './http/format.ts'
import { heldResponse } from './http/held-response.ts'
import { failureResponse } from './pages/failure-response.ts'
import { Admission, type TakenDown } from './policy/admission.ts'
import { DenylistFile } from './policy/denylist-file.ts'
import type { EgressCap, EgressCharge, Payers } from './policy/egress-cap.ts'
import { domainsOf, type EgressTally, type Payment } from './policy/egress-tally.ts'
import { finished, methodRefused, OWN_PREFLIGHT, PREFLIGHT } from './representations/content-headers.ts'
import { respond } from './representations/respond.ts'
import { type ApartGateway, withDocumentsApart } from './site/documents-apart.ts'
import { siteRoute } from './site/routing.ts'
import { isSiteMatter, siteResponse } from './site/site-rules.ts'
import { type Opened, OWN_HEADERS, type OwnerOf, openFor } from './source/own-reader.ts'
import type { ContentOrigin, RequestBlocks } from './source/request-blocks.ts'
import { resolve, resolveForms } from './source/resolver.ts'
import { type ArrivalOf, RootOpener } from './source/root-opener.ts'

export interface GatewayDependencies {
  content: LiveContent
  clock: Clock
  logger: Logger
  metrics?: Pick<Metrics, 'request' | 'answered' | 'finished'>
  options: CompleteConfig['gateway']
  arrivalOf?: ArrivalOf
  /** Required in the mode `open`, unless `network` is given. */
  fetcher?: BlockFetcher | null
  /** Replaces the fetcher as the source of unpinned content in the mode `open`. */
  network?: ContentOrigin
  /** Content of the fleet's other nodes. */
  others?: ContentOrigin | null
  takedowns?: TakenDown
  revision?: Pick<KnownRevision, 'number'>
  /** Where documents are, if this gateway shares an origin with the API. Default: documents are served like all content. */
  apart?: Pick<ApartGateway, 'baseFor'>
  limits?: WalkLimits
  /** Default: an opener made from the other dependencies. */
  opener?: RootOpener
  /** Limits concurrent responses. Default: as many slots as `options` allow. */
  slots?: Slots
  /** Counts sent bytes. Default: nothing is counted. */
  egress?: Pick<EgressTally, 'count'>
  /** Lets accounts pay for responses, within the limits of their plans. Default: nothing is refused. */
  cap?: EgressCap | null
  /** Lets accounts read their private content. Default: the gateway serves public content only. */
  ownerOf?: OwnerOf
  /** Limits the memory of blocks that are being sent to clients. Default: no limit. */
  memory?: MemoryBudget
}

/** The content and the charge of a response. Null for an error, for which nobody pays. */
interface Paid {
  blocks: RequestBlocks | null
  charge: EgressCharge | null
}

const NONE: TakenDown = { denylist: null }
const ROUTE = '/ipfs/*path'
/** Maximum time that a request waits for a free slot. */
const WAIT_MS = 15_000

/**
 * Creates the handler of `/ipfs/<cid>/<path>` and, if configured, of content host names. The body throws if a read
 * fails after the headers have been sent.
 *
 * @throws HoldfastError `INVALID_CID` for an invalid allowed CID, `CONFIG_INVALID` for the mode `open` without a
 * network
 */
export function createGateway(dependencies: GatewayDependencies): ApiHandler {
  const { clock, logger, metrics = silentMetrics, options, opener = openerOf(dependencies) } = dependencies
  const accessLog = { logger, metrics, clock }
  const { slots = gatewaySlots(options, clock), egress, cap = null } = dependencies
  const domainOf = domainsOf(options)
  const maxDurationMs = options.maxDurationSeconds * 1000
  const { apart, ownerOf } = dependencies
  const answer = apart === undefined ? answerHere : withDocumentsApart(answerHere, apart)

  return async request => {
    const startedAt = clock.now()
    const requestId = randomUUID()
    renameWork(`${request.method} ${ROUTE}`)
    const paid: Paid = { blocks: null, charge: null }
    let response: ApiResponse
    let failure: unknown
    try {
      response = await answer(request, paid)
    } catch (error) {
      failure = error
      response = request.signal.aborted ? NOBODY : failureResponse(request, error, requestId)
    }
    return logAnswer(accessLog, {
      surface: 'gateway',
      request,
      response: finished(request, response),
      requestId,
      failure,
      account: null,
      credential: null,
      route: ROUTE,
      source: null,
      bytesIn: 0,
      sent: bytes => {
        paid.charge?.end(bytes)
        egress?.count({ ...paymentOf(paid), domain: domainOf(request.header('host')), bytes })
      },
      startedAt,
    })
  }

  async function answerHere(request: ApiRequest, paid: Paid): Promise<ApiResponse> {
    if (request.method === 'OPTIONS') return ownerOf === undefined ? PREFLIGHT : OWN_PREFLIGHT
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw methodRefused(request.path.startsWith('/ipfs/') ? 'content' : 'the gateway, which is not the API,')
    }
    const query = new URLSearchParams(request.query)
    const choice = chooseFormat(query, request.header('accept'))
    const routed = siteRoute(request, query, choice, options.host ?? null)
    if ('response' in routed) return routed.response
    const owner = shareOf(request.remoteAddress)
    const turn = firstTurn(owner, request.signal)
    if (turn !== null) await turn
    const slot = await slots.enter(owner, request.signal)
    let blocks: RequestBlocks | null = null
    const release = (): void => {
      blocks?.release()
      slot.leave()
    }
    try {
      const opened = await (ownerOf !== undefined && hasCredential(request)
        ? openFor(ownerOf, opener, request, routed.path)
        : opener.open(request, routed.path).then(open => ({ blocks: open, isOwn: false })))
      blocks = opened.blocks
      const payers = await payersOf(opened)
      const served = await serve(request, routed.path, query, blocks, choice)
      const response = opened.isOwn ? { ...served, headers: { ...served.headers, ...OWN_HEADERS } } : served
      let charge: EgressCharge | null = null
      const sending = (bytes: number): void => charge?.sending?.(bytes)
      const holding = { clock, logger, maxDurationMs, slot, content: blocks, sending, release }
      const held = await heldResponse(request, response, holding)
      try {
        // The begin of a response has opened the content below an identity root.
        charge = (payers ?? (await payersOf(opened)))?.begin(lengthOf(request, response)) ?? null
      } catch (error) {
        if (held.body instanceof StreamBody) await held.body.return()
        throw error
      }
      Object.assign(paid, { blocks, charge } satisfies Paid)
      return held
    } catch (error) {
      release()
      throw error
    }
  }

  /** Returns null if no limit applies. */
  async function payersOf({ blocks: { paid }, isOwn }: Opened): Promise<Payers | null> {
    return cap === null || paid === null ? null : cap.payersOf(paid, isOwn)
  }

  async function serve(
    request: ApiRequest,
    path: ContentPath,
    query: URLSearchParams,
    blocks: RequestBlocks,
    choice: FormatChoice | null,
  ): Promise<ApiResponse> {
    const hasOwnOrigin = path.isIsolated || options.ownOrigin === true
    const lookup = { request, path, query, blocks, hasOwnOrigin, now: clock.now() }
    const asIs = choice !== null && ['raw', 'car', 'tar'].includes(choice.format)
    try {
      const resolved = asIs
        ? { ...(await resolve(blocks, path.root, path.names, false)), given: path.names }
        : await resolveForms(blocks, path.root, path.names)
      blocks.checkPath(resolved.roots, resolved.names)
      const response = await respond({ ...lookup, ...resolved, path: { ...path, names: resolved.given } }, choice)
      return { ...response, headers: { ...response.headers, ...contentLocation(request.query, choice) } }
    } catch (error) {
      const instead = choice === null && isSiteMatter(lookup, error) ? await siteResponse(lookup) : null
      if (instead === null) throw error
      return instead
    }
  }
}

/**
 * Creates slots that all handlers of a gateway in this thread must share.
 *
 * @param memory names the number of threads, which have equal parts; default: one
 */
export function gatewaySlots(
  { maxConcurrentRequests: capacity }: CompleteConfig['gateway'],
  clock: Clock,
  memory?: MemoryBudget,
): Slots {
  const threads = (): number => memory?.threads ?? 1
  const limits = { capacity, perOwner: null, waiting: capacity, waitMs: WAIT_MS, what: 'the gateway', threads }
  return new Slots(limits, clock)
}

/** Creates an opener. Throws the errors of {@link createGateway}. */
export function openerOf(dependencies: Omit<GatewayDependencies, 'opener'>): RootOpener {
  const { clock, logger, options, arrivalOf = () => null, fetcher = null, takedowns = NONE, revision } = dependencies
  const denylist = options.denylist === undefined ? null : new DenylistFile(options.denylist, clock, logger)
  const admission = new Admission({
    allow: options.mode === 'allow-list' ? (options.allow ?? []) : null,
    denylist,
    takedowns,
    revision,
  })
  const { memory = MemoryBudget.of(Number.MAX_SAFE_INTEGER, clock) } = dependencies
  return new RootOpener({ ...dependencies, options, admission, arrivalOf, fetcher, memory })
}

const NOBODY: ApiResponse = { status: CLIENT_GONE, headers: {}, body: null }

function hasCredential({ header }: ApiRequest): boolean {
  return header('authorization') !== undefined || header('x-api-key') !== undefined
}

function paymentOf({ blocks, charge }: Paid): Payment {
  return charge?.payment ?? { rootId: blocks?.paid?.rootId ?? null }
}

/** Returns the length of the body in bytes, or null if it is unknown. */
function lengthOf({ method }: ApiRequest, { headers, body }: ApiResponse): number | null {
  if (method === 'HEAD' || body === null) return 0
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.byteLength(body)
  const length = headers['content-length']
  return length === undefined ? null : Number(length)
}
