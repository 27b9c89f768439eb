import { HoldfastError } from '../../src/domain/errors.ts'
import type { ListedUpload, Pin, Removed, Renamed, Status, Upload, UploadPage } from './answers.ts'
import { type Connection, pathPart } from './connection.ts'
import { type TargetOptions, targetFields } from './files.ts'
import { waitFor } from './idle-timer.ts'
import { isoTime } from './times.ts'

/** Options of a pin by CID. */
export interface PinOptions extends TargetOptions {
  name?: string | undefined
  originalName?: string | undefined
  /** Providers to ask first: multiaddrs that end in `/p2p/<id>`, or URLs of gateways. */
  origins?: readonly string[] | undefined
  /** True to return at once instead of waiting for the content. */
  background?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** Filters and order of a list. A row must match all given filters. */
export interface ListOptions {
  cid?: string | undefined
  /** Lists the files of this directory instead of records. */
  parentCid?: string | undefined
  expiring?: boolean | undefined
  /** Text that the name must contain. The search ignores case. */
  q?: string | undefined
  /** Compared as `match` says, by default exactly. */
  name?: string | undefined
  match?: 'exact' | 'iexact' | 'partial' | 'ipartial' | undefined
  /** Keys and values that the metadata must contain. */
  meta?: Readonly<Record<string, string>> | undefined
  type?: Upload['type'] | readonly Upload['type'][] | undefined
  status?: Upload['status'] | readonly Upload['status'][] | undefined
  /** With `disputed`, the records that database and node called differently, until their visibility is set. */
  visibility?: Upload['visibility'] | 'disputed' | undefined
  /** Strictly before or after this time of creation, as ISO 8601 or a `Date`. */
  before?: string | Date | undefined
  after?: string | Date | undefined
  /** Order by time of creation. Default: `newest` first. */
  sort?: 'newest' | 'oldest' | 'name' | '-name' | 'size' | '-size' | undefined
  /** The server may return fewer rows. */
  limit?: number | undefined
  signal?: AbortSignal | undefined
}

/** Options for waiting until a pin is complete. */
export interface WaitOptions {
  onProgress?: ((status: Pin | Status) => void) | undefined
  signal?: AbortSignal | undefined
}

const PAGE_ROWS = 100
/** Rows to remember while a list is read, about 2 MB. Uploads between two pages shift rows back by as many. */
const MOST_SEEN = 10_000
const FIRST_LOOK_MS = 500
const LATER_LOOK_MS = 5_000
const SLOWER = 1.5

/** Pins of the account. */
export class Pins {
  readonly #connection: Connection

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection
  }

  /**
   * Pins content from the network, or content that the server already has.
   * @throws HoldfastError `CID_NOT_FOUND`
   * @example const pin = await client.pins.add(cid, { name: 'a dataset', background: true })
   */
  async add(cid: string, options: PinOptions = {}): Promise<Pin> {
    const { name, originalName, origins, background, signal } = options
    const headers: Record<string, string> = background === true ? { prefer: 'respond-async' } : {}
    const json = { customName: name, originalName, origins, ...targetFields(options), meta: options.meta }
    return this.#connection.json<Pin>('POST', `/files/pin/${pathPart(cid, 'the CID')}`, { headers, json, signal })
  }

  /**
   * Removes all pins of a CID, in one cluster or in all clusters.
   * @throws HoldfastError `PIN_NOT_FOUND`
   * @example await client.pins.remove(cid)
   */
  async remove(cid: string, options: { cluster?: string | undefined } = {}): Promise<Removed> {
    const query = { cl: options.cluster }
    return this.#connection.json<Removed>('DELETE', `/files/remove/${pathPart(cid, 'the CID')}`, { query })
  }

  /**
   * Renames a record. If `meta` is given, it replaces all metadata of the record.
   * @throws HoldfastError `NOT_FOUND`
   * @example await client.pins.rename(uploadId, 'report.pdf', { meta: { year: '2030' } })
   */
  async rename(
    uploadId: string,
    newName: string | undefined,
    { meta }: Pick<TargetOptions, 'meta'> = {},
  ): Promise<Renamed> {
    const path = `/files/rename/${pathPart(uploadId, 'the upload’s id')}`
    return this.#connection.json<Renamed>('PUT', path, { json: { newName, meta } })
  }

  /**
   * Makes a record public or private. Copies that others have made of public content cannot be recalled.
   *
   * @returns the record. `pending` is the number of nodes and gateway threads that may still serve its content.
   * @throws HoldfastError `NOT_FOUND`, `NOT_OFFERED`; `CONFLICT` if the content has not arrived; `missing_scope` if a key
   * without `files:read` and `share:write` makes it public
   * @example await client.pins.setVisibility(uploadId, 'private')
   */
  async setVisibility(
    uploadId: string,
    visibility: 'public' | 'private',
    { cluster }: Pick<TargetOptions, 'cluster'> = {},
  ): Promise<Upload & { pending?: number }> {
    const path = `/files/visibility/${pathPart(uploadId, 'the upload’s id')}`
    return this.#connection.json('PUT', path, { json: { visibility, cl: cluster } })
  }

  /**
   * Returns the status of a pin.
   * @throws HoldfastError `PIN_NOT_FOUND`
   * @example const { status, blocks } = await client.pins.status(cid)
   */
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
   * Polls the status until the pin is complete.
   *
   * @throws HoldfastError `UNAVAILABLE` once the server stops retrying, `ABORTED` if `signal` aborts
   * @example await client.pins.untilPinned(await client.pins.add(cid, { background: true }))
   */
  async untilPinned(pin: Pin, { onProgress, signal }: WaitOptions = {}): Promise<Pin | Status> {
    let latest: Pin | Status = pin
    for (let wait = FIRST_LOOK_MS; isUnfinished(latest); wait = Math.min(wait * SLOWER, LATER_LOOK_MS)) {
      onProgress?.(latest)
      await waitFor(this.#connection.settings.wait, wait, signal)
      latest = await this.status(pin.cid, { cluster: pin.clusterId, signal })
    }
    if ((latest.status ?? 'pinned') === 'pinned') return latest
    const reason = 'lastError' in latest ? (latest.lastError ?? latest.reason) : null
    throw new HoldfastError('UNAVAILABLE', `${pin.cid} is ${latest.status}${reason === null ? '' : `: ${reason}`}`)
  }

  /**
   * Returns one page of the list. Pages start at 1.
   * @throws HoldfastError `VALIDATION`, `INVALID_CID` for a filter
   * @example const { uploads, total } = await client.pins.page(1, { sort: '-size', limit: 20 })
   */
  page(page: number, options: ListOptions = {}): Promise<UploadPage> {
    const query = listQueryOf(page, options)
    return this.#connection.json<UploadPage>('GET', '/users/me/uploads', { query, signal: options.signal })
  }

  /**
   * Yields all pages, newest row first. Uploads during the iteration shift rows, but no row is yielded twice, unless more
   * than 10,000 uploads arrive between two pages.
   * @example for await (const uploads of client.pins.pages({ q: 'report' })) console.log(uploads.length)
   */
  async *pages(options: ListOptions = {}): AsyncGenerator<ListedUpload[], void> {
    const seen = new Set<string>()
    for (let page = 1; ; page++) {
      const { uploads = [], total, pagination } = await this.page(page, options)
      const fresh = uploads.filter(row => !seen.has(identity(row)))
      if (fresh.length > 0) yield fresh
      remember(seen, uploads.map(identity))
      const limit = pagination?.limit ?? Math.max(uploads.length, 1)
      if (uploads.length === 0 || page * limit >= total) return
    }
  }

  /**
   * Yields the rows of all pages.
   * @example for await (const { cid, name } of client.pins.all()) console.log(cid, name)
   */
  async *all(options: ListOptions = {}): AsyncGenerator<ListedUpload, void> {
    for await (const rows of this.pages(options)) yield* rows
  }
}

/** Returns the query parameters of one page of a list. */
export function listQueryOf(page: number, options: ListOptions): Record<string, string | undefined> {
  const { cid, parentCid, expiring, limit = PAGE_ROWS } = options
  const paging = { page: String(page), limit: String(limit) }
  return {
    cid,
    parentCid,
    hasExpiration: expiring === true ? 'true' : undefined,
    ...searchFields(options),
    ...paging,
  }
}

/** Adds the rows of a page, and forgets the rows that were seen longest ago. */
function remember(seen: Set<string>, page: readonly string[]): void {
  for (const row of page) {
    seen.delete(row)
    seen.add(row)
  }
  for (const row of seen) {
    if (seen.size <= MOST_SEEN) return
    seen.delete(row)
  }
}

function identity({ uploadId, cid, path, createdAt }: ListedUpload): string {
  return [uploadId, cid, path, createdAt].join(' ')
}

function isUnfinished(pin: Pin | Status): boolean {
  if (pin.status === 'failed') return 'nextAttemptAt' in pin && pin.nextAttemptAt !== null
  return pin.status === 'queued' || pin.status === 'pinning'
}

function searchFields({ q, name, match, meta, type, status, visibility, before, after, sort }: ListOptions) {
  return {
    q,
    name,
    match,
    sort,
    visibility,
    meta: meta && JSON.stringify(meta),
    type: type && [type].flat().join(','),
    status: status && [status].flat().join(','),
    before: isoTime(before, 'before'),
    after: isoTime(after, 'after'),
  }
}
