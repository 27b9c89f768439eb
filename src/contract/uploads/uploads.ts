import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import { checkedVisibility, VISIBILITIES } from '../../domain/visibility.ts'
import { NAME_MATCHES, PIN_TYPES, SORTS } from '../../pins/lists/list-search.ts'
import type { ListItem, ListPage } from '../../pins/pin-types.ts'
import { CLUSTER, count, describedCount, instant, text } from '../answer-fields.ts'
import { optional, optionalMeta, required } from '../body-reader.ts'
import { type ContractRoute, json, route, type Shown } from '../contract-route.ts'
import { askedSearch, positiveInteger } from '../list-query.ts'
import {
  Dag,
  meta,
  nameFields,
  presentDag,
  presentUpload,
  presentUploaded,
  shownNameOf,
  state,
  Upload,
  uploadedFields,
  uploadFields,
} from '../record-fields.ts'
import { present } from '../request-target.ts'
import type { Services } from '../services.ts'

export const ListedUpload = Type.Object({
  ...uploadFields,
  ...nameFields,
  uploadedAt: instant,
  dagSize: describedCount('bytes of the distinct blocks'),
  meta,
  parentCid: orNull(Type.String({ description: 'directory that contains this file; null if the row is a record' })),
  path: orNull(Type.String({ description: 'path in the directory; null if the row is a record' })),
})

export const UploadList = Type.Object(
  {
    uploads: Type.Array(ListedUpload),
    total: describedCount('number of entries on all pages'),
    totalIsLowerBound: Type.Optional(
      Type.Literal(true, {
        description: 'a search by name or meta has over 10,000 matches: `total` is exact on the last page',
      }),
    ),
    pagination: Type.Object({
      page: count,
      limit: Type.Integer({ minimum: 1, description: 'the effective limit' }),
      total: count,
      totalPages: count,
    }),
  },
  { title: 'UploadList' },
)

export const Renamed = Type.Object(
  { updated: Type.Literal(true), newName: text, meta: Type.Optional(meta) },
  { title: 'Renamed' },
)

const positive = Type.Integer({ minimum: 1 })

/** Query parameters of a list of uploads. */
export const LIST_QUERY = {
  page: { description: 'From 1.', schema: positive },
  limit: { description: 'Default and maximum are set by the plan.', schema: positive },
  cid: { description: 'Only records with this CID.', schema: text },
  parentCid: { description: 'The files below this directory, recursively.', schema: text },
  hasExpiration: { description: '`true`: only records that will expire.', schema: Type.Boolean() },
  q: { description: 'Part of the name, case-insensitive.', schema: text },
  name: { description: 'The name, compared according to `match`.', schema: text },
  match: { description: 'How to compare `name`. Default `exact`.', schema: Type.Enum([...NAME_MATCHES]) },
  meta: { description: 'A JSON object of texts. Records must have all of them.', schema: text },
  type: { description: 'One or more, separated by commas.', schema: Type.Enum([...PIN_TYPES]) },
  status: { description: 'One or more, separated by commas.', schema: state },
  visibility: { description: 'Only public or only private records.', schema: Type.Enum([...VISIBILITIES]) },
  before: { description: 'Only records created before this instant.', schema: instant },
  after: { description: 'Only records created after this instant.', schema: instant },
  sort: {
    description: 'Default `newest`. By name or size, of at most 10,000 records. A minus reverses the order.',
    schema: Type.Enum([...SORTS]),
  },
}

const list = route({
  method: 'GET',
  path: '/users/me/uploads',
  access: 'files:read',
  tag: 'Lists',
  summary: 'List uploads',
  details:
    'Newest first. An entry must match every given filter. With `parentCid`, the answer lists the files below a directory of the account ' +
    'instead of records, and allows only the filters `cid` and `hasExpiration`.',
  query: LIST_QUERY,
  answers: { 200: UploadList },
  isRemembered: true,
  errors: ['VALIDATION'],
  handler: async ({ query, principal }, { pins }) => ({
    status: 200,
    body: await listUploads(pins, principal.account.id, query),
  }),
})

/** Returns the page of an account's uploads that a query asks for. */
export async function listUploads(
  pins: Pick<Services['pins'], 'list'>,
  account: string,
  query: URLSearchParams,
): Promise<Shown<typeof UploadList>> {
  const page = await pins.list({
    account,
    page: positiveInteger(query, 'page'),
    limit: positiveInteger(query, 'limit'),
    cid: present(query.get('cid')),
    parentCid: present(query.get('parentCid')),
    hasExpiration: query.get('hasExpiration') === 'true',
    ...askedSearch(query),
  })
  return presentList(page)
}

const dag = route({
  method: 'GET',
  path: '/users/me/uploads/dag/:cid',
  access: 'files:read',
  tag: 'Lists',
  summary: 'List the files of an uploaded directory',
  params: { cid: 'Its root CID.' },
  answers: { 200: Dag },
  errors: ['INVALID_CID', 'PIN_NOT_FOUND'],
  handler: async ({ param, principal }, { pins }) => {
    const outcome = await pins.dag({ account: principal.account.id, cid: param('cid').trim() })
    return { status: 200, body: presentDag(outcome) }
  },
})

const rename = route({
  method: 'PUT',
  path: '/files/rename/:uploadId',
  access: 'files:write',
  tag: 'Files',
  summary: 'Rename a record, or change its meta',
  params: { uploadId: 'The `uploadId` of the record.' },
  body: json(Type.Object({ newName: optional, meta: optionalMeta })),
  answers: { 200: Renamed },
  errors: ['NOT_FOUND', 'PIN_NOT_FOUND'],
  handler: async ({ body, param, principal }, { pins }) => {
    const { newName, meta } = await body()
    if (newName === undefined && meta === undefined) throw new HoldfastError('VALIDATION', 'newName is missing')
    const record = await pins.rename({
      account: principal.account.id,
      uploadId: param('uploadId'),
      name: newName,
      meta,
    })
    return { status: 200, body: { updated: true, newName: shownNameOf(record), ...(meta && { meta: record.meta }) } }
  },
})

const setVisibility = route({
  method: 'PUT',
  path: '/files/visibility/:uploadId',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  summary: 'Make a record public or private',
  details:
    '`public` also needs `files:read` and `share:write`. Copies that others have made of public content cannot be ' +
    'recalled. The answer waits until all nodes and gateway threads follow the change. After some seconds it is 202, and ' +
    '`pending` is the number of those that have not confirmed it.',
  params: { uploadId: 'The `uploadId` of the record.' },
  ...CLUSTER,
  body: json(Type.Object({ visibility: required, cl: optional })),
  answers: { 200: Upload, 202: Type.Object({ ...uploadedFields, pending: count }) },
  errors: ['NOT_FOUND', 'VALIDATION', 'CONFLICT', 'NOT_OFFERED', 'UNAVAILABLE', 'missing_scope'],
  handler: async ({ body, param, principal }, { pins, clusters, scopes }) => {
    const visibility = checkedVisibility((await body()).visibility)
    if (visibility === 'public') scopes.check(principal, 'files:read', 'share:write')
    const request = { account: principal.account.id, uploadId: param('uploadId'), visibility }
    const { pending, ...record } = await pins.setVisibility(request)
    const shown = presentUploaded(record, clusters)
    if (pending.length === 0) return { status: 200, body: shown }
    return { status: 202, body: { ...shown, pending: pending.length } }
  },
})

export const uploadRoutes: readonly ContractRoute[] = [rename, setVisibility, list, dag]

function presentList(page: ListPage): Shown<typeof UploadList> {
  const { total, totalIsLowerBound, page: number, limit, totalPages } = page
  const totals = { total, ...(totalIsLowerBound && { totalIsLowerBound }) }
  return { uploads: page.items.map(presentItem), ...totals, pagination: { page: number, limit, total, totalPages } }
}

function presentItem(item: ListItem): Shown<typeof ListedUpload> {
  return {
    ...presentUpload(item),
    name: shownNameOf(item, item.path),
    uploadedAt: iso(item.createdAt),
    originalName: item.originalName,
    customName: item.customName,
    dagSize: item.dagSize,
    meta: item.meta,
    parentCid: item.parentCid,
    path: item.path,
  }
}
