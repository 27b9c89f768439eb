import { Type } from 'typebox'
import type { AuthenticatedContext } from '../../http/route.ts'
import { CLUSTER, cid, STORING } from '../answer-fields.ts'
import { optional, optionalMeta } from '../body-reader.ts'
import { type ContractRoute, optionalJson, route, type Shown } from '../contract-route.ts'
import { optionalVisibility, Pin, presentPin, stored } from '../record-fields.ts'
import { present, RequestTarget } from '../request-target.ts'
import type { Services } from '../services.ts'

const LONGEST_ORIGIN = 1_024
const MOST_ORIGINS = 32

const CID_PARAMETER = { cid: 'A CID, version 0 or 1, in any multibase.' }

export const RemovedPin = Type.Object(
  { cid, removed: Type.Literal(true), success: Type.Literal(true) },
  { title: 'Removed' },
)

const pin = route({
  method: 'POST',
  path: '/files/pin/*cid',
  goesTo: 'cluster',
  access: 'files:write',
  tag: 'Files',
  summary: 'Pin content by its CID, fetched from the network if necessary',
  details:
    'Content that is complete on this node is pinned at once. Other content is fetched from the network. A fetch that ' +
    'outlasts the request is answered with `status: "pinning"` and continues; `/status/{cid}` shows its progress.',
  params: CID_PARAMETER,
  query: CLUSTER.query,
  headers: {
    ...CLUSTER.headers,
    Prefer: { description: '`respond-async`: answers as soon as the pin is queued.', schema: Type.String() },
  },
  body: optionalJson(
    Type.Object({
      originalName: optional,
      customName: optional,
      filename: optional,
      cl: optional,
      timelock: optional,
      meta: optionalMeta,
      visibility: optionalVisibility,
      origins: Type.Optional(Type.Array(Type.String({ maxLength: LONGEST_ORIGIN }), { maxItems: MOST_ORIGINS })),
    }),
  ),
  answers: { 200: Pin, 201: Pin },
  errors: [...STORING, 'INVALID_CID', 'CID_NOT_FOUND'],
  handler: async (context, { pins, scopes }) => {
    const { principal, request } = context
    const target = new RequestTarget(context)
    await target.check(pins, principal.account.id)
    const body = await context.body()
    const { record, created } = await pins.pin({
      account: principal.account.id,
      cid: context.param('cid').trim(),
      cluster: target.cluster(body.cl),
      timelock: present(body.timelock),
      originalName: body.originalName,
      customName: body.customName ?? body.filename,
      meta: body.meta,
      visibility: present(body.visibility),
      adopts: scopes.adoption(principal),
      origins: body.origins,
      respondAsync: prefersAsync(request.header('prefer')),
      signal: request.signal,
    })
    return stored(created, presentPin(record))
  },
})

const removal = {
  method: 'DELETE',
  access: 'files:delete',
  tag: 'Files',
  params: CID_PARAMETER,
  ...CLUSTER,
  answers: { 200: RemovedPin },
  errors: ['PIN_NOT_FOUND'],
  handler: async (
    context: AuthenticatedContext,
    { pins }: Services,
  ): Promise<{ status: 200; body: Shown<typeof RemovedPin> }> => {
    const cid = context.param('cid').trim()
    const cluster = new RequestTarget(context).cluster()
    await pins.remove({ account: context.principal.account.id, cid, cluster })
    return { status: 200, body: { cid, removed: true, success: true } }
  },
} as const

export const pinRoutes: readonly ContractRoute[] = [
  pin,
  route({
    ...removal,
    path: '/files/remove/*cid',
    summary: 'Remove a pin',
    details: 'In the named cluster, or in all. Content that another record needs stays.',
  }),
  route({ ...removal, path: '/users/me/uploads/:cid', summary: 'Remove a pin (older path)', isAlias: true }),
]

/** Checks for `Prefer: respond-async` (RFC 7240). */
function prefersAsync(prefer: string | undefined): boolean {
  return (prefer ?? '').split(',').some(item => /^\s*respond-async\s*(;|$)/i.test(item))
}
