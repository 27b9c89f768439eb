/**
 * A request, as the core sees it. Adapters translate their host's requests and responses to these two types and do
 * nothing else.
 */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string
  /** The raw path: percent-encoded, without query and mount prefix. */
  readonly path: string
  /** The raw query string without `?`; empty if there is none. */
  readonly query: string
  /** Returns a header by lower-case name. Repeated headers are joined with `, `. */
  header(name: string): string | undefined
  /**
   * The body. Each piece is valid until the next is requested. Before the first request, nothing is read from the
   * socket and no `100 Continue` is sent. Iterate at most once. The iteration throws if the client disconnects.
   */
  readonly body: AsyncIterable<Uint8Array>
  /**
   * Returns the whole body if it is small and arrived together with the headers, which avoids the cost of a stream.
   * Returns null otherwise, without reading.
   */
  arrived?(): Promise<Uint8Array | null>
  /** Aborts if the client disconnects before the answer is complete. */
  readonly signal: AbortSignal
  /** The client's scheme; undefined if unknown, for example behind a proxy that does not state it. */
  readonly scheme?: 'http' | 'https' | undefined
  /** The address at the other end of the socket. Handlers see the client's address instead, behind trusted proxies. */
  readonly remoteAddress: string | undefined
  /** Facts from the node that forwarded this request; undefined for other requests. */
  readonly forwarded?: Forwarded | undefined
}

/** Facts that a node states about a request that it forwards. */
export interface Forwarded {
  /** Id of the forwarding node. */
  readonly node: string
  /** Id of the node that must answer. */
  readonly to: string
  /** Request id in the forwarding node's log. */
  readonly requestId: string
  /** The client's address; null if unknown. */
  readonly client: string | null
  readonly scheme: 'http' | 'https' | null
  /** The requested host. */
  readonly host: string | null
  /** True if the forwarding node has chosen the responsible node. The receiver must not forward again. */
  readonly isDecided?: true
}

/** An answer, for the adapter to send. */
export interface ApiResponse {
  /** HTTP status. */
  readonly status: number
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * A string is sent as UTF-8. A stream is read with backpressure, and closed (`return()`) if the client disconnects.
   */
  readonly body: string | Uint8Array | BodyStream | null
}

/** A streamed body. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /**
   * Frees a chunk that has been sent and has no other reader, ahead of the garbage collector. Calling it is optional.
   */
  discard?(chunk: Uint8Array): void
}

/** Answers a request. Errors become answers, too. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>
