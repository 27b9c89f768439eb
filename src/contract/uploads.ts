import { Type } from 'typebox'
import type { ListItem, ListPage } from '../pins/types.ts'
import { count, instant, iso, orNull, text } from './answer-fields.ts'
import { required } from './body-reader.ts'
import { positiveInteger } from './page-query.ts'
import { Dag, nameFields, nameOf, presentDag, presentUpload, uploadFields } from './record-view.ts'
import { present } from './request-target.ts'
import { type ContractRoute, json, route, type Shown } from './route.ts'

const Item = Type.Object({
  ...uploadFields,
  ...nameFields,
  uploadedAt: instant,
  dagSize: Type.Integer({ minimum: 0, description: 'bytes of all its distinct blocks' }),
  parentCid: orNull(text),
  path: orNull(text),
})

const UploadList = Type.Object(
  {
    uploads: Type.Array(Item),
    total: Type.Integer({ minimum: 0, description: 'what all pages together deliver' }),
    pagination: Type.Object({
      page: count,
      limit: Type.Integer({ minimum: 1, description: 'the one in effect' }),
      total: count,
      totalPages: count,
    }),
  },
  { title: 'UploadList' },
)

const Renamed = Type.Object({ updated: Type.Literal(true), newName: text }, { title: 'Renamed' })

const positive = Type.Integer({ minimum: 1 })

const list = route({
  method: 'GET',
  path: '/users/me/uploads',
  access: 'files:read',
  tag: 'Lists',
  summary: 'List uploads',
  details: 'Newest first. With `parentCid` the files below a directory of the account are listed instead of records.',
  query: {
    page: { description: 'From 1.', schema: positive },
    limit: { description: 'By default, and at most, what the plan says.', schema: positive },
    cid: { description: 'Only records of this content.', schema: text },
    parentCid: { description: 'The files below this directory, recursively.', schema: text },
    hasExpiration: { description: '`true`: only records that will expire.', schema: Type.Boolean() },
  },
  answers: { 200: UploadList },
  errors: ['VALIDATION'],
  handler: async ({ query, principal }, { pins }) => {
    const page = await pins.list({
      account: principal.account.id,
      page: positiveInteger(query, 'page'),
      limit: positiveInteger(query, 'limit'),
      cid: present(query.get('cid')),
      parentCid: present(query.get('parentCid')),
      hasExpiration: query.get('hasExpiration') === 'true',
    })
    return { status: 200, body: presentList(page) }
  },
})

const dag = route({
  method: 'GET',
  path: '/users/me/uploads/dag/:cid',
  access: 'files:read',
  tag: 'Lists',
  summary: 'The files of an uploaded directory',
  params: { cid: 'Its root CID.' },
  answers: { 200: Dag },
  errors: ['PIN_NOT_FOUND'],
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
  summary: 'Rename a record',
  params: { uploadId: 'The `uploadId` of the record.' },
  body: json(Type.Object({ newName: required })),
  answers: { 200: Renamed },
  errors: ['NOT_FOUND', 'PIN_NOT_FOUND'],
  handler: async ({ body, param, principal }, { pins }) => {
    const { newName } = await body()
    const name = await pins.rename({ account: principal.account.id, uploadId: param('uploadId'), name: newName })
    return { status: 200, body: { updated: true, newName: name } }
  },
})

/** The records of an account: the list of them, what is in them, and their names. */
export const uploadRoutes: readonly ContractRoute[] = [rename, list, dag]

function presentList(page: ListPage): Shown<typeof UploadList> {
  const { total, page: number, limit, totalPages } = page
  return { uploads: page.items.map(presentItem), total, pagination: { page: number, limit, total, totalPages } }
}

function presentItem(item: ListItem): Shown<typeof Item> {
  return {
    ...presentUpload(item),
    name: nameOf(item, item.path),
    uploadedAt: iso(item.createdAt),
    originalName: item.originalName,
    customName: item.customName,
    dagSize: item.dagSize,
    parentCid: item.parentCid,
    path: item.path,
  }
}
