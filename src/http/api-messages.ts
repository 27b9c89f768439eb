/** An HTTP request. Adapters convert the requests of their server to this type. */
export interface ApiRequest {
  /** In upper case. */
  readonly method: string
  /** The path as received, percent-encoded, without the query and the mount prefix. */
  readonly path: string
  /** The query as received, without `?`. Empty if the URL has no query. */
  readonly query: string
  /** Returns the value of a header. The name must be in lower case. Repeated headers are joined with `, `. */
  header(name: string): string | undefined
  /**
   * The body, which can be iterated once. Each chunk is valid until the next chunk is requested. Before the first
   * request, nothing is read from the socket and no `100 Continue` is sent. The iteration throws if the client
   * disconnects.
   */
  readonly body: AsyncIterable<Uint8Array>
  /** Returns a small body that arrived together with the headers. Otherwise returns null and reads nothing. */
  arrived?(): Promise<Uint8Array | null>
  /** Aborts if the client disconnects before the response is complete. */
  readonly signal: AbortSignal
  /** Scheme of the requested URL. Undefined if unknown. */
  readonly scheme?: 'http' | 'https' | undefined
  /** IP address at the other end of the socket. Behind trusted proxies, handlers get the client's address instead. */
  readonly remoteAddress: string | undefined
  /** Undefined unless another node has forwarded the request. */
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
  /** True if the receiver is known to be responsible and must not forward the request again. */
  readonly isDecided?: true
}

/** An HTTP response, which the adapter sends. */
export interface ApiResponse {
  /** HTTP status code. */
  readonly status: number
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Strings are sent as UTF-8. Streams are read with backpressure, and closed with `return()` after a disconnect. */
  readonly body: string | Uint8Array | BodyStream | null
}

/** A response body as a stream of chunks. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** Frees the memory of a sent chunk, without the garbage collector. Call only if nothing else uses the chunk. */
  discard?(chunk: Uint8Array): void
  /** Calls `listener` when the body fails, even if nobody reads it. The connection must then close. */
  onFail?(listener: () => void): void
}

/** Handles a request. Errors of the request become error responses, not rejections. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>
