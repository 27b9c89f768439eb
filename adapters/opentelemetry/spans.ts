import {
  type Attributes,
  type Context,
  context,
  diag,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { type FinishedWork, VERSION } from '../../src/index.ts'

/** Other methods get one name, because clients choose them. */
const METHODS = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE'])
const OTHER = '_OTHER'
const KINDS: Readonly<Partial<Record<FinishedWork['kind'], SpanKind>>> = {
  request: SpanKind.SERVER,
  'webhook delivery': SpanKind.CLIENT, // feature: webhooks
}

/** Returns a function that makes the spans of finished work, in the terms of the HTTP semantic conventions. */
export function spanMaker(): (work: FinishedWork) => void {
  const spans = new Spans()
  return work => {
    try {
      spans.take(work)
    } catch (error) {
      // A broken SDK must not fail the work itself.
      diag.error('holdfast: cannot make a span', error)
    }
  }
}

class Spans {
  readonly #tracer = trace.getTracer('holdfast', VERSION)
  /** By identity: the context below a request, or the steps that wait for its end. */
  readonly #requests = new WeakMap<object, { below: Context } | { waiting: FinishedWork[] }>()

  take(work: FinishedWork): void {
    if (work.request !== undefined) this.#takeRequest(work)
    else if (work.trace === undefined) makeSpan(this.#tracer, work, ROOT_CONTEXT)
    else this.#takeStep(work, work.trace)
  }

  #takeRequest(work: FinishedWork): void {
    const below = makeSpan(this.#tracer, work, parentOf(work.request))
    if (work.trace === undefined) return
    const known = this.#requests.get(work.trace)
    if (known !== undefined && 'waiting' in known) {
      for (const step of known.waiting) makeSpan(this.#tracer, step, below)
    }
    this.#requests.set(work.trace, { below })
  }

  #takeStep(work: FinishedWork, request: object): void {
    const known = this.#requests.get(request)
    if (known === undefined) this.#requests.set(request, { waiting: [work] })
    else if ('waiting' in known) known.waiting.push(work)
    else makeSpan(this.#tracer, work, known.below)
  }
}

/** Returns the context for work below the span. */
function makeSpan(tracer: Tracer, work: FinishedWork, parent: Context): Context {
  const { kind, startedAt, endedAt, code } = work
  const options = { kind: KINDS[kind] ?? SpanKind.INTERNAL, startTime: startedAt, attributes: attributesOf(work) }
  const span = tracer.startSpan(nameOf(work), options, parent)
  if (isFailure(work)) span.setStatus({ code: SpanStatusCode.ERROR, ...(code !== null && { message: code }) })
  span.end(endedAt)
  return trace.setSpan(parent, span)
}

/** Returns the parent of a span: the active span of the host program, or else that of the request's headers. */
function parentOf(request: FinishedWork['request']): Context {
  const active = context.active()
  if (trace.getSpan(active) !== undefined || request?.traceparent === undefined) return active
  const { traceparent, tracestate } = request
  return propagation.extract(ROOT_CONTEXT, { traceparent, ...(tracestate !== undefined && { tracestate }) })
}

function nameOf({ kind, request }: FinishedWork): string {
  if (request === undefined) return kind
  const method = METHODS.has(request.method) ? request.method : 'HTTP'
  return request.route === null ? method : `${method} ${request.route}`
}

function attributesOf({ request, code, facts }: FinishedWork): Attributes {
  const own = Object.fromEntries(Object.entries(facts).map(([name, value]) => [`holdfast.${name}`, value]))
  if (request === undefined) return { ...own, ...(code !== null && { 'error.type': code }) }
  const { method, route, status, scheme } = request
  return {
    ...own,
    'http.request.method': METHODS.has(method) ? method : OTHER,
    ...(route !== null && { 'http.route': route }),
    ...(scheme !== undefined && { 'url.scheme': scheme }),
    'http.response.status_code': status,
    ...(code !== null && { 'error.type': code }),
  }
}

/** Returns whether work counts as failed. A refused request (4xx) and an aborted step do not. */
function isFailure({ request, code }: FinishedWork): boolean {
  return request === undefined ? code !== null && code !== 'ABORTED' : request.status >= 500
}
