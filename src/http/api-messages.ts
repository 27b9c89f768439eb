/**
 * An HTTP request, independent of the server that received it. Adapters convert the requests of their server to this
 * type, and {@link ApiResponse} to the responses of their server.
 */
export interface ApiRequest {
  /** HTTP method in upper case. */
  readonly method: string
  /** The path as received, percent-encoded, without the query and the mount prefix. */
  readonly path: string
  /** The query string as received, without `?`. Empty if the URL has no query. */
  readonly query: string
  /**
   * Returns the value of a header, or undefined. The name must be in lower case. Repeated headers are joined with `, `.
   */
  header(name: string): string | undefined
  /**
   * The body. Each chunk is valid until the next chunk is requested. Before the first chunk is requested, nothing is
   * read from the socket and no `100 Continue` is sent. The body can be iterated only once. The iteration throws if the
   * client disconnects.
   */
  readonly body: AsyncIterable<Uint8Array>
  /**
   * Returns the whole body if it is small and arrived together with the headers, which avoids the cost of a stream.
   * Otherwise returns null and reads nothing.
   */
  arrived?(): Promise<Uint8Array | null>
  /** Aborts if the client disconnects before the response is complete. */
  readonly signal: AbortSignal
  /**
   * Scheme of the URL that the client requested. Undefined if the scheme is unknown, for example because a proxy does
   * not state it.
   */
  readonly scheme?: 'http' | 'https' | undefined
  /**
   * IP address at the other end of the socket. If trusted proxies are configured, handlers get the address of the
   * client instead.
   */
  readonly remoteAddress: string | undefined
  /** Information from the node that forwarded this request. Undefined if no node has forwarded the request. */
  readonly forwarded?: Forwarded | undefined
}

/** Information that a node adds to a request when it forwards the request to another node. */
export interface Forwarded {
  /** Id of the forwarding node. */
  readonly node: string
  /** Id of the node that must handle the request. */
  readonly to: string
  /** Id of the request in the log of the forwarding node. */
  readonly requestId: string
  /** IP address of the client; null if unknown. */
  readonly client: string | null
  readonly scheme: 'http' | 'https' | null
  /** Host that the client requested. */
  readonly host: string | null
  /**
   * True if the forwarding node has determined that the receiver is responsible. The receiver must not forward the
   * request again.
   */
  readonly isDecided?: true
}

/** An HTTP response, which the adapter sends. */
export interface ApiResponse {
  /** HTTP status code. */
  readonly status: number
  /** Response headers. The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * The body. A string is sent as UTF-8. A stream is read with backpressure. If the client disconnects, the adapter
   * closes the stream with `return()`.
   */
  readonly body: string | Uint8Array | BodyStream | null
}

/** A response body as a stream of chunks. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /**
   * Frees the memory of a chunk that has been sent, without waiting for the garbage collector. The adapter may call
   * this method if nothing else uses the chunk.
   */
  discard?(chunk: Uint8Array): void
}

/** Handles a request. The promise does not reject for errors of the request, which become error responses. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>
