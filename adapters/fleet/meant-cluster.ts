import { present, RequestTarget } from '../../src/contract/request-target.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { MAX_JSON_BYTES, parseJson } from '../../src/http/json-body.ts'
import { readForm, readPartText } from '../../src/http/multipart.ts'
import type { AuthenticatedContext } from '../../src/http/route.ts'

/** How much of a form is read before it is decided which node is to have it. */
const LOOKED_AT_BYTES = 64 * 1024

/**
 * The cluster that a request names, as far as that can be told before most of its body is read. A field behind a file
 * that is larger than what is looked at is found by whoever takes the file in, and hands it over. JSON is read whole, as
 * whoever answers it does.
 *
 * @returns also the request, with the whole of its body still to be read
 */
export async function meantCluster(
  context: AuthenticatedContext,
): Promise<{ cluster: string | undefined; request: ApiRequest }> {
  const { request } = context
  const target = new RequestTarget(context)
  if (present(request.header('x-cluster')) !== undefined) return { cluster: target.cluster(), request }
  const media = request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isForm = media === 'multipart/form-data'
  if (!isForm && media !== '' && !media.endsWith('json')) return { cluster: target.cluster(), request }
  const body = await BegunBody.of(request.body, isForm ? LOOKED_AT_BYTES : MAX_JSON_BYTES)
  const named = isForm ? await inForm(request, body) : inJson(body)
  return { cluster: target.cluster(named), request: withBody(request, body) }
}

/** A body of which the beginning is known. */
class BegunBody implements AsyncIterable<Uint8Array> {
  readonly #rest: AsyncIterator<Uint8Array>
  readonly start: Uint8Array
  readonly isWhole: boolean

  private constructor(start: Uint8Array, isWhole: boolean, rest: AsyncIterator<Uint8Array>) {
    this.start = start
    this.isWhole = isWhole
    this.#rest = rest
  }

  /** Reads more than so many bytes, or all. */
  static async of(body: AsyncIterable<Uint8Array>, looked: number): Promise<BegunBody> {
    const rest = body[Symbol.asyncIterator]()
    const pieces: Uint8Array[] = []
    let bytes = 0
    while (bytes <= looked) {
      const { done, value } = await rest.next()
      if (done === true) return new BegunBody(Buffer.concat(pieces), true, rest)
      // It is good until the next one is asked for.
      pieces.push(Buffer.from(value))
      bytes += value.length
    }
    return new BegunBody(Buffer.concat(pieces), false, rest)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      // Whoever takes a piece may give its memory up.
      if (this.start.length > 0) yield Buffer.from(this.start)
      if (!this.isWhole) yield* { [Symbol.asyncIterator]: () => this.#rest }
    } finally {
      await this.#rest.return?.()
    }
  }
}

/** The last field `cl` of what is known of a form. What is wrong with it is told by whoever reads all of it. */
async function inForm({ header }: ApiRequest, { start, isWhole }: BegunBody): Promise<string | undefined> {
  let named: string | undefined
  async function* known(): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(start)
    if (!isWhole) throw new HoldfastError('ABORTED', 'no more of it is looked at')
  }
  try {
    for await (const part of readForm({ header, body: known() })) {
      if (part.name === 'cl' && !part.isFile) named = present(await readPartText(part, LOOKED_AT_BYTES)) ?? named
    }
  } catch {
    // What was found until then is what is known.
  }
  return named
}

function inJson({ start, isWhole }: BegunBody): string | undefined {
  if (!isWhole || start.length === 0) return undefined
  try {
    const body: unknown = parseJson(start, 'the body')
    const named = typeof body === 'object' && body !== null && 'cl' in body ? body.cl : undefined
    return typeof named === 'string' ? named : undefined
  } catch {
    return undefined
  }
}

/** Written out, because a spread would lose what an adapter keeps behind getters and methods of a class. */
function withBody(request: ApiRequest, body: BegunBody): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => request.header(name),
    body,
    // Whoever takes it may give its memory up.
    arrived: async () => (body.isWhole ? Buffer.from(body.start) : null),
    signal: request.signal,
    scheme: request.scheme,
    remoteAddress: request.remoteAddress,
    passedOn: request.passedOn,
  }
}
