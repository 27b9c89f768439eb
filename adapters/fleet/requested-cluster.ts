import { present, RequestTarget } from '../../src/contract/request-target.ts'
import { HoldfastError } from '../../src/domain/errors.ts'
import type { ApiRequest } from '../../src/http/api-messages.ts'
import { MAX_JSON_BYTES, parseJson } from '../../src/http/json-body.ts'
import { readForm, readPartText } from '../../src/http/multipart.ts'
import type { AuthenticatedContext } from '../../src/http/route.ts'

/** Maximum bytes of a form that are read to choose the node. */
const PEEKED_BYTES = 64 * 1024

/**
 * Reads a JSON body completely, but only the beginning of a form. A cluster field after a large file is found later,
 * while this node receives the file.
 */
export async function requestedCluster(
  context: AuthenticatedContext,
): Promise<{ cluster: string | undefined; request: ApiRequest }> {
  const { request } = context
  const target = new RequestTarget(context)
  if (present(request.header('x-cluster')) !== undefined) return { cluster: target.cluster(), request }
  const media = request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const isForm = media === 'multipart/form-data'
  if (!isForm && media !== '' && !media.endsWith('json')) return { cluster: target.cluster(), request }
  const body = await PeekedBody.of(request.body, isForm ? PEEKED_BYTES : MAX_JSON_BYTES)
  const named = isForm ? await clusterInForm(request, body) : clusterInJson(body)
  return { cluster: target.cluster(named), request: withBody(request, body) }
}

class PeekedBody implements AsyncIterable<Uint8Array> {
  readonly #rest: AsyncIterator<Uint8Array>
  readonly start: Uint8Array
  readonly isWhole: boolean

  static whole(bytes: Uint8Array): PeekedBody {
    return new PeekedBody(bytes, true, emptyBody())
  }

  private constructor(start: Uint8Array, isWhole: boolean, rest: AsyncIterator<Uint8Array>) {
    this.start = start
    this.isWhole = isWhole
    this.#rest = rest
  }

  /** Reads more than `bytes` bytes, or the whole body if it is shorter. */
  static async of(body: AsyncIterable<Uint8Array>, bytes: number): Promise<PeekedBody> {
    const rest = body[Symbol.asyncIterator]()
    const pieces: Uint8Array[] = []
    let length = 0
    while (length <= bytes) {
      const { done, value } = await rest.next()
      if (done === true) return new PeekedBody(Buffer.concat(pieces), true, rest)
      // Copy the piece, because it is valid only until the next read.
      pieces.push(Buffer.from(value))
      length += value.length
    }
    return new PeekedBody(Buffer.concat(pieces), false, rest)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      // Yield a copy, because the consumer may free the memory of a piece.
      if (this.start.length > 0) yield Buffer.from(this.start)
      if (!this.isWhole) yield* { [Symbol.asyncIterator]: () => this.#rest }
    } finally {
      await this.#rest.return?.()
    }
  }
}

/** Returns the last field `cl` in the beginning of a form. Ignores errors in the form, which the handler reports. */
async function clusterInForm({ header }: ApiRequest, { start, isWhole }: PeekedBody): Promise<string | undefined> {
  let named: string | undefined
  async function* beginning(): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(start)
    if (!isWhole) throw new HoldfastError('ABORTED', 'the part that was read ends')
  }
  try {
    for await (const part of readForm({ header, body: beginning() })) {
      if (part.name === 'cl' && !part.isFile) named = present(await readPartText(part, PEEKED_BYTES)) ?? named
    }
  } catch {
    // The beginning contains no other complete field.
  }
  return named
}

function clusterInJson({ start, isWhole }: PeekedBody): string | undefined {
  if (!isWhole || start.length === 0) return undefined
  try {
    const body: unknown = parseJson(start, 'the body')
    const named = typeof body === 'object' && body !== null && 'cl' in body ? body.cl : undefined
    return typeof named === 'string' ? named : undefined
  } catch {
    return undefined
  }
}

/** Returns a request whose body was read already. */
export function withWhole(request: ApiRequest, body: Uint8Array): ApiRequest {
  return withBody(request, PeekedBody.whole(body))
}

async function* emptyBody(): AsyncGenerator<Uint8Array, void, undefined> {}

/** Copies the request field by field: a spread would drop the getters and methods of an adapter's class. */
function withBody(request: ApiRequest, body: PeekedBody): ApiRequest {
  return {
    method: request.method,
    path: request.path,
    query: request.query,
    header: name => request.header(name),
    body,
    // Return a copy, because the consumer may free the memory.
    arrived: async () => (body.isWhole ? Buffer.from(body.start) : null),
    signal: request.signal,
    scheme: request.scheme,
    remoteAddress: request.remoteAddress,
    forwarded: request.forwarded,
  }
}
