/**
 * The border between the core and whatever serves HTTP. Adapters translate their host's request and response to
 * these two shapes and do nothing else.
 */
export interface ApiRequest {
  /** Upper case. */
  readonly method: string
  /** The path as it came, percent-encoding kept, without query and without the mount prefix. */
  readonly path: string
  /** The raw query string without `?`; empty if there is none. */
  readonly query: string
  /** A header by lower-case name; repeated headers are joined with `, `. */
  header(name: string): string | undefined
  /**
   * The body's bytes, each piece good until the next one is asked for. Nothing is read from the socket, and no
   * `100 Continue` is sent, before the first pull. Iterated at most once; iteration throws if the client goes away.
   */
  readonly body: AsyncIterable<Uint8Array>
  /**
   * The whole body, if it is small and comes together with its headers, as most small ones do; it is read then, and needs
   * none of what it takes to stream. Null otherwise: nothing of it has been read.
   */
  arrived?(): Promise<Uint8Array | null>
  /** Aborted when the client goes away before it is answered whole. */
  readonly signal: AbortSignal
  /** What the client came by; not there if that is not known, as behind a proxy that does not tell. */
  readonly scheme?: 'http' | 'https' | undefined
  /** The address at the other end of the socket; for a handler, the client's, beyond proxies that are trusted. */
  readonly remoteAddress: string | undefined
  /** What another node of the fleet says of a request that it passes on; not there for all others. */
  readonly passedOn?: PassedOn | undefined
}

/** What a node says of a request that it passes on to another. */
export interface PassedOn {
  /** The id of the node that it came to. */
  readonly node: string
  /** The id of the node that is to answer it. */
  readonly to: string
  /** As that one's log calls it. */
  readonly requestId: string
  /** The client's address; null if it is not known. */
  readonly client: string | null
  readonly scheme: 'http' | 'https' | null
  /** What the client asked for as the host. */
  readonly host: string | null
  /** That node has read it to its end and knows the cluster that it is for: it goes no further. */
  readonly isDecided?: true
}

/** An answer, for whatever serves HTTP to send. */
export interface ApiResponse {
  /** Of HTTP. */
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Text is sent as UTF-8. An iterable is pulled with backpressure and closed (`return()`) if the client goes. */
  readonly body: string | Uint8Array | BodyStream | null
}

/** A body that is made while it is sent. */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /**
   * Tells that a chunk has been sent and that nobody looks at it any more, so that its memory is free at once and
   * not when the garbage collector comes round. Worth calling, and optional.
   */
  discard?(chunk: Uint8Array): void
}

/** Answers a request; what goes wrong becomes an answer, too. */
export type ApiHandler = (request: ApiRequest) => Promise<ApiResponse>
