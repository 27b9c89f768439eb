import { Type } from 'typebox'
import { iso } from '../../domain/iso-instant.ts'
import type { Takedown } from '../../gateway/policy/takedowns.ts'
import { LONGEST_BASE32 } from '../../ipld/cid.ts'
import { instant, next, PAGE_QUERY, text } from '../answer-fields.ts'
import { type ContractRoute, json, route, type Shown } from '../contract-route.ts'
import { pageRequest } from '../list-query.ts'

const refusedStatus = Type.Union([Type.Literal(410), Type.Literal(451)])
export const TakedownView = Type.Object(
  {
    cid: text,
    path: Type.String({ description: 'path below the CID; empty if the takedown covers all content of the CID' }),
    status: refusedStatus,
    reason: text,
    at: instant,
  },
  { title: 'Takedown' },
)

const Pending = Type.Array(
  Type.Object({ node: Type.Union([text, Type.Null()]), thread: Type.Union([Type.Integer(), Type.Null()]) }),
)
const PENDING =
  'The answer waits until all nodes and their gateway threads follow the change. After some seconds it is 202, and ' +
  '`pending` names the others, as `[{node, thread}]`. A node without an id is null, and so is the thread of a whole node.'

const owner = { access: 'owner', tag: 'The owner' } as const

const list = route({
  ...owner,
  method: 'GET',
  path: '/takedowns',
  summary: 'List takedowns, oldest first',
  details:
    '`{takedowns: [{cid, path, status, reason, at}], next}`; `limit` (100, at most 1,000), `after` (the `next` of the ' +
    'previous page).',
  query: PAGE_QUERY,
  answers: { 200: Type.Object({ takedowns: Type.Array(TakedownView), next }) },
  errors: ['VALIDATION'],
  handler: ({ query }, { takedowns }) => {
    const { rows, next } = takedowns.page(pageRequest(query))
    return { status: 200, body: { takedowns: rows.map(presentTakedown), next } }
  },
})

const add = route({
  ...owner,
  method: 'POST',
  path: '/takedowns',
  audit: 'takedown.add',
  summary: 'Take down a CID, or a path below it',
  details:
    '201 with the takedown. Body: `{"cid", "path", "reason", "status"}`. `path` and `status` (410 or 451) are ' +
    `optional. ${PENDING}`,
  body: json(
    Type.Object({
      cid: Type.String({ maxLength: LONGEST_BASE32 }),
      path: Type.Optional(Type.String({ maxLength: 4_096 })),
      reason: Type.String({ maxLength: 1_000 }),
      status: Type.Optional(refusedStatus),
    }),
  ),
  answers: { 201: TakedownView, 202: Type.Object({ ...TakedownView.properties, pending: Pending }) },
  errors: ['INVALID_CID'],
  handler: async ({ body }, { takedowns }) => {
    const { pending, ...takedown } = await takedowns.add(await body())
    const taken = presentTakedown(takedown)
    return pending.length === 0 ? { status: 201, body: taken } : { status: 202, body: { ...taken, pending } }
  },
})

const removed = true
const Removed = Type.Object({ removed: Type.Literal(removed) })

const remove = route({
  ...owner,
  method: 'DELETE',
  path: '/takedowns/:cid',
  audit: 'takedown.lift',
  summary: 'Lift a takedown',
  details:
    '`{removed: true}`. `?path=` names the takedown of a path. 404 `NOT_FOUND` without a matching ' +
    `takedown. ${PENDING}`,
  params: { cid: 'Its CID, as listed.' },
  query: { path: { description: 'The path of the takedown, if it has one.', schema: text } },
  answers: { 200: Removed, 202: Type.Object({ ...Removed.properties, pending: Pending }) },
  errors: ['NOT_FOUND'],
  handler: async ({ param, query }, { takedowns }) => {
    const { pending } = await takedowns.remove({ cid: param('cid'), path: query.get('path') ?? '' })
    return pending.length === 0 ? { status: 200, body: { removed } } : { status: 202, body: { removed, pending } }
  },
})

export const takedownRoutes: readonly ContractRoute[] = [list, add, remove]

function presentTakedown({ at, ...takedown }: Takedown): Shown<typeof TakedownView> {
  return { ...takedown, at: iso(at) }
}
