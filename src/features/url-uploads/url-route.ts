import { Type } from 'typebox'
import { CLUSTER, STORING } from '../../contract/answer-fields.ts'
import { optional, optionalMeta } from '../../contract/body-reader.ts'
import { type ContractRoute, json, routesWith } from '../../contract/contract-route.ts'
import { optionalVisibility, presentUploaded, stored, Upload } from '../../contract/record-fields.ts'
import { present, RequestTarget } from '../../contract/request-target.ts'
import type { Services } from '../../contract/services.ts'
import { inUploadSlot } from '../../contract/uploads/upload-slot.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { UrlReader } from './url-reader.ts'

/** Services that only this route uses. */
export interface UrlServices {
  /** Null if the node reads no URLs. */
  urls: Pick<UrlReader, 'open' | 'parse'> | null
}

const route = routesWith<UrlServices>()

/** Copies a file of the web to this node. This route extends the API contract. */
const uploadUrl = route({
  method: 'POST',
  path: '/files/url',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  summary: 'Upload the file at a URL',
  details:
    'The node reads the file itself, and follows at most three redirects. It decodes a `Content-Encoding`. It connects to private addresses only with ' +
    '`uploads.fromUrls: "any"`. The name is the last part of the path, unless `name` is given. A server that sends ' +
    'nothing for ten seconds, or takes longer than an hour, is given up.',
  ...CLUSTER,
  body: json(
    Type.Object({
      url: Type.String({ maxLength: 2_048 }),
      name: optional,
      cl: optional,
      timelock: optional,
      meta: optionalMeta,
      visibility: optionalVisibility,
    }),
  ),
  answers: { 200: Upload, 201: Upload },
  errors: [...STORING, 'FILE_TOO_LARGE', 'NOT_OFFERED', 'UNAVAILABLE'],
  handler: async (context, { pins, clusters, uploadSlots, scopes, urls }) => {
    const { request, principal } = context
    const target = new RequestTarget(context)
    await target.check(pins, principal.account.id)
    const { name, cl, timelock, meta, visibility, ...body } = await context.body()
    if (urls === null) throw new HoldfastError('NOT_OFFERED', 'this node reads no URLs: uploads.fromUrls is "off"')
    const file = new RemoteFile(urls, body.url, principal.plan.maxFileBytes)
    const source = { signal: request.signal, body: file.read(request.signal) }
    return inUploadSlot(uploadSlots, { request: source, principal }, async ({ body: content, signal }) => {
      const { record, created } = await pins.upload(content, {
        account: principal.account.id,
        signal,
        cluster: target.cluster(cl),
        timelock: present(timelock),
        visibility: present(visibility),
        adopts: scopes.adoption(principal),
        meta,
        late: async () => ({ name: present(name) ?? present(file.name) }),
      })
      return stored(created, presentUploaded(record, clusters))
    })
  },
})

export const urlRoutes: ReadonlyArray<ContractRoute<Services & UrlServices>> = [uploadUrl]

/** The file at a URL. It sends its request when it is read, and so only in an upload slot. */
class RemoteFile {
  readonly #reader: Pick<UrlReader, 'open'>
  readonly #url: URL
  readonly #mostBytes: number | null
  /** Known once the file is being read. */
  name = ''

  /** @throws HoldfastError `VALIDATION` */
  constructor(reader: Pick<UrlReader, 'open' | 'parse'>, url: string, mostBytes: number | null) {
    this.#reader = reader
    this.#url = reader.parse(url)
    this.#mostBytes = mostBytes
  }

  async *read(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const { name, body } = await this.#reader.open(this.#url, { signal, mostBytes: this.#mostBytes })
    this.name = name
    yield* body
  }
}
