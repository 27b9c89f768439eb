import { HoldfastError } from '../../src/domain/errors.ts'
import type { ListedUpload, Pin, Removed, Renamed, Status, Upload, UploadPage } from './answers.ts'
import { type Connection, pathPart } from './connection.ts'
import { type TargetOptions, targetFields } from './files.ts'

/** How content is pinned by its CID. */
export interface PinOptions extends TargetOptions {
  /** What lists call it. */
  name?: string | undefined
  /** What it was called where it comes from. */
  originalName?: string | undefined
  /** Who has it: multiaddrs ending in `/p2p/…`, or URLs of gateways. */
  origins?: readonly string[] | undefined
  /** Whether the answer is wanted at once, whatever is known by then. */
  background?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** Which records are listed. */
export interface ListOptions {
  /** Only of this content. */
  cid?: string | undefined
  /** The files of this directory instead of records. */
  parentCid?: string | undefined
  /** Only what will end. */
  expiring?: boolean | undefined
  /** Part of the name, in upper or lower case. */
  q?: string | undefined
  /** The name, compared as `match` says; default `exact`. */
  name?: string | undefined
  match?: 'exact' | 'iexact' | 'partial' | 'ipartial' | undefined
  /** What is kept with it, each of these. */
  meta?: Readonly<Record<string, string>> | undefined
  /** One or more. */
  type?: Upload['type'] | readonly Upload['type'][] | undefined
  /** One or more. */
  status?: Upload['status'] | readonly Upload['status'][] | undefined
  /** Made strictly before or after, ISO 8601 or a `Date`. */
  before?: string | Date | undefined
  after?: string | Date | undefined
  /** Default `newest`. */
  sort?: 'newest' | 'oldest' | undefined
  /** Rows of a page; the server may hold it to fewer. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** How a pin is waited for. */
export interface WaitOptions {
  /** Told after each look. */
  onProgress?: ((status: Pin | Status) => void) | undefined
  signal?: AbortSignal | undefined
}

/** As large as most plans let a page be. */
const PAGE_ROWS = 100
/** Between two looks at a pin: sooner at first. */
const FIRST_LOOK_MS = 500
const LATER_LOOK_MS = 5_000
const SLOWER = 1.5

/** What an account keeps. */
export class Pins {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Keeps content that others have, or that is here already. The answer says how far that is.
   *
   * @throws HoldfastError with the server's own code, `CID_NOT_FOUND` above all
   */
  async add(cid: string, options: PinOptions = {}): Promise<Pin> {
    const { name, originalName, origins, background, signal } = options
    const headers: Record<string, string> = background === true ? { prefer: 'respond-async' } : {}
    const json = { customName: name, originalName, origins, ...targetFields(options), meta: options.meta }
    return this.#connection.json<Pin>('POST', `/files/pin/${pathPart(cid, 'the CID')}`, { headers, json, signal })
  }

  /** Removes the pins of a content, in one cluster or in all. @throws HoldfastError `PIN_NOT_FOUND` */
  async remove(cid: string, options: { cluster?: string | undefined } = {}): Promise<Removed> {
    const query = { cl: options.cluster }
    return this.#connection.json<Removed>('DELETE', `/files/remove/${pathPart(cid, 'the CID')}`, { query })
  }

  /** Gives a record another name, and other meta in place of all that it had. @throws HoldfastError `NOT_FOUND` */
  async rename(
    uploadId: string,
    newName: string | undefined,
    { meta }: Pick<TargetOptions, 'meta'> = {},
  ): Promise<Renamed> {
    const path = `/files/rename/${pathPart(uploadId, 'the upload’s id')}`
    return this.#connection.json<Renamed>('PUT', path, { json: { newName, meta } })
  }

  /** How far a pin is. @throws HoldfastError `PIN_NOT_FOUND` */
  async status(
    cid: string,
    { cluster, signal }: { cluster?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Status> {
    return this.#connection.json<Status>('GET', `/status/${pathPart(cid, 'the CID')}`, {
      query: { cl: cluster },
      signal,
    })
  }

  /**
   * Looks at a pin until everything of it is stored. A failed one that is tried again by itself may still come.
   *
   * @throws HoldfastError `UNAVAILABLE` once the server does not try any further
   */
  async untilPinned(pin: Pin, { onProgress, signal }: WaitOptions = {}): Promise<Pin | Status> {
    let latest: Pin | Status = pin
    for (let wait = FIRST_LOOK_MS; isUnfinished(latest); wait = Math.min(wait * SLOWER, LATER_LOOK_MS)) {
      onProgress?.(latest)
      await this.#connection.settings.wait(wait)
      if (signal?.aborted === true) throw new HoldfastError('ABORTED', 'the wait for a pin was aborted')
      latest = await this.status(pin.cid, { cluster: pin.clusterId, signal })
    }
    // A server that says nothing of a state has it.
    if ((latest.status ?? 'pinned') === 'pinned') return latest
    const reason = 'lastError' in latest ? (latest.lastError ?? latest.reason) : null
    throw new HoldfastError('UNAVAILABLE', `${pin.cid} is ${latest.status}${reason === null ? '' : `: ${reason}`}`)
  }

  /** One page of the list, the first is 1. @throws HoldfastError `VALIDATION`, `INVALID_CID` for a filter */
  page(page: number, options: ListOptions = {}): Promise<UploadPage> {
    const { cid, parentCid, expiring, limit = PAGE_ROWS, signal } = options
    const query = { cid, parentCid, hasExpiration: expiring === true ? 'true' : undefined, ...searchFields(options) }
    const paging = { page: String(page), limit: String(limit) }
    return this.#connection.json<UploadPage>('GET', '/users/me/uploads', { query: { ...query, ...paging }, signal })
  }

  /**
   * All pages, none of them empty, the newest row first. What is uploaded meanwhile pushes rows from one page to the
   * next: they are given once.
   */
  async *pages(options: ListOptions = {}): AsyncGenerator<ListedUpload[], void> {
    let before = new Set<string>()
    for (let page = 1; ; page++) {
      const { uploads = [], total, pagination } = await this.page(page, options)
      const fresh = uploads.filter(row => !before.has(identity(row)))
      if (fresh.length > 0) yield fresh
      before = new Set(uploads.map(identity))
      const limit = pagination?.limit ?? Math.max(uploads.length, 1)
      if (uploads.length === 0 || page * limit >= total) return
    }
  }

  /** All rows, as {@link pages}. */
  async *all(options: ListOptions = {}): AsyncGenerator<ListedUpload, void> {
    for await (const rows of this.pages(options)) yield* rows
  }
}

function identity({ uploadId, cid, path, createdAt }: ListedUpload): string {
  return [uploadId, cid, path, createdAt].join(' ')
}

function isUnfinished(pin: Pin | Status): boolean {
  if (pin.status === 'failed') return 'nextAttemptAt' in pin && pin.nextAttemptAt !== null
  return pin.status === 'queued' || pin.status === 'pinning'
}

function searchFields({ q, name, match, meta, type, status, before, after, sort }: ListOptions) {
  return {
    q,
    name,
    match,
    sort,
    meta: meta && JSON.stringify(meta),
    type: type && [type].flat().join(','),
    status: status && [status].flat().join(','),
    before: before instanceof Date ? before.toISOString() : before,
    after: after instanceof Date ? after.toISOString() : after,
  }
}
