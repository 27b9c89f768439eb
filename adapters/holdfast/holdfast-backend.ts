import type { CID } from 'multiformats/cid'
import Type, { type Static, type TSchema } from 'typebox'
import {
  type BackendPeer,
  type BackendStatus,
  type ClusterBackend,
  type MarkedPin,
  type MayUnpin,
  NODE_HEADER,
  type PinJob,
} from '../../src/clusters/cluster-backend.ts'
import type { BlockSource } from '../../src/content/block-source.ts'
import { HoldfastError, isHoldfastError } from '../../src/domain/errors.ts'
import { cidOf, cidOrNull, type DagIdentity, dagKey, identityOf } from '../../src/ipld/cid.ts'
import { carBytes } from '../remote/car-bytes.ts'
import type { SendHttp } from '../remote/http-client.ts'
import { answerAs, jsonAs, shortened } from '../remote/json-answers.ts'

const CAR_TYPE = 'application/vnd.ipld.car'
const PAGE = 100
/** Maximum number of pages to read from the list of one DAG's records. */
const MOST_PAGES = 10
/**
 * Name, after the mark, of a record whose hold was removed. The record remains while another record of the same content
 * is needed, because the other node could only remove both.
 */
const RELEASED = 'released'

const uploadsSchema = Type.Object({
  uploads: Type.Array(
    Type.Object({
      uploadId: Type.String(),
      cid: Type.String(),
      clusterId: Type.String(),
      status: Type.Union([
        Type.Literal('queued'),
        Type.Literal('pinning'),
        Type.Literal('pinned'),
        Type.Literal('failed'),
      ]),
      customName: Type.Union([Type.String(), Type.Null()]),
      // A node of 0.3.0 has only public records.
      visibility: Type.Optional(Type.String()),
      createdAt: Type.String(),
    }),
  ),
  pagination: Type.Object({ totalPages: Type.Number() }),
})
type Listed = Static<typeof uploadsSchema>['uploads'][number]
const accountSchema = Type.Object({
  planDetails: Type.Object({ maxStorageBytes: Type.Union([Type.Number(), Type.Null()]) }),
  usage: Type.Object({ storedBytes: Type.Number() }),
})
const errorSchema = Type.Object({ message: Type.String() })

export interface HoldfastBackendOptions {
  /** URL of the other node's API without a trailing slash, for example `https://pins.example.org/api/v3`. */
  url: string
  /** Key of an account on the other node, with the scopes `files:read`, `files:write` and `files:delete`. */
  key: string
  cluster: string
  /** Text that marks this node's records on the other node: unique and printable. */
  mark: string
  send: SendHttp
  reader: BlockSource
}

interface RemoteRecord {
  uploadId: string
  status: 'queued' | 'pinning' | 'pinned' | 'failed'
  /** Null if the record does not have this node's mark. */
  hold: string | null
  /** False for a private record, whose content the other node's gateway does not serve. */
  isReadable: boolean
}

/**
 * A cluster on another Holdfast. Each hold is a record with this node's mark. Other records are neither counted nor
 * removed.
 */
export class HoldfastBackend implements ClusterBackend {
  readonly reader: BlockSource
  readonly #options: HoldfastBackendOptions

  constructor(options: HoldfastBackendOptions) {
    this.reader = options.reader
    this.#options = options
  }

  async pin({ hold, root, source, isRepair = false, signal, onProgress }: PinJob): Promise<void> {
    if (source === null) throw new HoldfastError('UNAVAILABLE', `no source of ${root} is known`)
    const own = signal ?? new AbortController().signal
    const { uploads } = await this.#recordsOf(identityOf(root), own)
    const isThere = uploads.some(record => record.hold === hold && record.isReadable && record.status !== 'failed')
    if (!isThere || isRepair) {
      const { cluster, mark } = this.#options
      // Ask for a public record. The account's default may be private.
      const query = new URLSearchParams({ cl: cluster, customName: nameOf(mark, hold), visibility: 'public' })
      const body = carBytes(root, source, { signal: own, onProgress })
      await this.#ask('POST', `/files/car?${query}`, { body, type: CAR_TYPE, signal: own })
    }
    const { state } = await this.status(identityOf(root), own)
    if (state !== 'pinned') throw new HoldfastError('UNAVAILABLE', `the cluster reports the content as ${state}`)
  }

  async unpin(hold: string, root: DagIdentity, signal?: AbortSignal, mayUnpin?: MayUnpin): Promise<void> {
    const own = signal ?? new AbortController().signal
    const { uploads, isWhole } = await this.#recordsOf(root, own)
    const ours = uploads.filter(record => record.hold === hold)
    if (ours.length === 0) return
    // The other node removes all records that the account has of this content. If another record is needed, only rename
    // these.
    const isShared = !isWhole || uploads.some(record => ![hold, RELEASED].includes(record.hold ?? ''))
    if (mayUnpin !== undefined && !(await mayUnpin())) return
    own.throwIfAborted()
    if (isShared) {
      const body = JSON.stringify({ newName: nameOf(this.#options.mark, RELEASED) })
      for (const { uploadId } of ours) {
        await this.#ask('PUT', `/files/rename/${uploadId}`, { body, type: 'application/json', signal: own })
      }
      return
    }
    const path = `/users/me/uploads/${cidOf(root)}?${new URLSearchParams({ cl: this.#options.cluster })}`
    try {
      await this.#ask('DELETE', path, { signal: own })
    } catch (error) {
      if (!isHoldfastError(error, 'NOT_FOUND')) throw error
    }
  }

  async status(root: DagIdentity, signal?: AbortSignal): Promise<BackendStatus> {
    const { uploads } = await this.#recordsOf(root, signal ?? new AbortController().signal)
    const ours = uploads.filter(({ hold, isReadable }) => hold !== null && hold !== RELEASED && isReadable)
    const states = (['pinned', 'pinning', 'queued', 'failed'] as const).find(state =>
      ours.some(({ status }) => status === state),
    )
    const peer = this.#options.cluster
    return {
      state: states ?? 'unpinned',
      allocations: ours.map(({ status }) => ({ peer, state: status, error: null })),
    }
  }

  /**
   * Yields pins from the oldest to the newest. Each page starts at the last record of the previous page, so that
   * removals skip no record.
   */
  async *pins(signal?: AbortSignal): AsyncGenerator<readonly MarkedPin[], void, undefined> {
    const own = signal ?? new AbortController().signal
    let [after, page] = [0, 1]
    let seen = new Set<string>()
    for (;;) {
      const from = { sort: 'oldest', after: new Date(after).toISOString() }
      const query = new URLSearchParams({ ...from, limit: String(PAGE), page: String(page) })
      const { uploads, pagination } = parseAnswer(
        uploadsSchema,
        await this.#ask('GET', `/users/me/uploads?${query}`, { signal: own }),
      )
      const fresh = uploads.filter(({ uploadId }) => !seen.has(uploadId))
      const pins = fresh.flatMap(record => this.#markedPin(record) ?? [])
      if (pins.length > 0) yield pins
      const last = uploads.at(-1)
      if (last === undefined || page >= pagination.totalPages || (page > 1 && fresh.length === 0)) return
      // Records of the same millisecond may be on both pages, so remember the ids of this page.
      const next = Date.parse(last.createdAt) - 1
      if (next > after) [after, page, seen] = [next, 1, new Set()]
      else page++
      for (const { uploadId } of uploads) seen.add(uploadId)
    }
  }

  /** Returns one peer: the cluster on the other node, with the space left in the account's plan. */
  async peers(signal?: AbortSignal): Promise<readonly BackendPeer[]> {
    const own = signal ?? new AbortController().signal
    const { planDetails, usage } = parseAnswer(accountSchema, await this.#ask('GET', '/users/me', { signal: own }))
    const { maxStorageBytes: most } = planDetails
    const freeBytes = most === null ? null : Math.max(0, most - usage.storedBytes)
    return [{ peer: this.#options.cluster, freeBytes, error: null }]
  }

  #markedPin({ cid, clusterId, status, customName }: Listed): MarkedPin | null {
    const hold = holdIn(this.#options.mark, customName)
    if (hold === null || hold === RELEASED || clusterId !== this.#options.cluster) return null
    const root = cidOrNull(cid)
    // If the CID is not supported, this node has never pinned it.
    return root === null ? null : { ...identityOf(root), hold, state: status }
  }

  /** `isWhole` is false if the DAG has more records than {@link MOST_PAGES} pages. */
  async #recordsOf(root: DagIdentity, signal: AbortSignal): Promise<{ uploads: RemoteRecord[]; isWhole: boolean }> {
    const cid = cidOf(root)
    const uploads: RemoteRecord[] = []
    for (let page = 1; page <= MOST_PAGES; page++) {
      const query = new URLSearchParams({ cid: cid.toString(), limit: String(PAGE), page: String(page) })
      const text = await this.#ask('GET', `/users/me/uploads?${query}`, { signal })
      const listed = parseAnswer(uploadsSchema, text)
      for (const record of listed.uploads) {
        if (record.clusterId !== this.#options.cluster || !isSame(record.cid, cid)) continue
        const { uploadId, status, customName, visibility = 'public' } = record
        const hold = holdIn(this.#options.mark, customName)
        uploads.push({ uploadId, status, hold, isReadable: visibility === 'public' })
      }
      if (page >= listed.pagination.totalPages) return { uploads, isWhole: true }
    }
    return { uploads, isWhole: false }
  }

  async #ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    { body, type, signal }: { body?: AsyncIterable<Uint8Array> | string; type?: string; signal: AbortSignal },
  ): Promise<string> {
    const { url, key, mark, send } = this.#options
    const headers = {
      authorization: `Bearer ${key}`,
      [NODE_HEADER]: mark,
      ...(type !== undefined && { 'content-type': type }),
    }
    const answer = await send({ method, url: `${url}${path}`, headers, signal, ...(body !== undefined && { body }) })
    if (answer.status >= 200 && answer.status < 300) return answer.text
    throw refusal(answer)
  }
}

function nameOf(mark: string, hold: string): string {
  return `${mark} ${hold}`
}

function holdIn(mark: string, name: string | null): string | null {
  return name?.startsWith(`${mark} `) === true ? name.slice(mark.length + 1) : null
}

/** Compares codec and multihash. The versions and text encodings of equal CIDs may differ. */
function isSame(text: string, cid: CID): boolean {
  const other = cidOrNull(text)
  return other !== null && dagKey(other) === dagKey(cid)
}

function parseAnswer<Schema extends TSchema>(schema: Schema, text: string): Static<Schema> {
  return answerAs(schema, text, cause => {
    return new HoldfastError('UNAVAILABLE', 'the node of the cluster sent an invalid answer', { cause })
  })
}

function refusal({ status, text }: { status: number; text: string }): HoldfastError {
  const error = jsonAs(errorSchema, text)
  const detail = error === null ? '' : `: ${shortened(error.message)}`
  const code = status === 404 ? 'NOT_FOUND' : 'UNAVAILABLE'
  return new HoldfastError(code, `the node of the cluster answered ${status}${detail}`)
}
