import { Type } from 'typebox'
import type { ListedNode } from '../../catalogue/fleet.ts'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, describedCount, describedInstant, next, PAGE_QUERY, text } from '../answer-fields.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, optionalJson, route } from '../contract-route.ts'
import { pageRequest } from '../list-query.ts'

const owner = { access: 'owner', tag: 'The owner' } as const

export const NodeView = Type.Object(
  {
    id: text,
    url: text,
    number: describedCount('no later node gets the number'),
    state: Type.Enum(['up', 'leaving', 'down']),
    membership: Type.Enum(['active', 'retiring', 'retired', 'forgetting', 'forgotten'], {
      description: 'a `retired` or `forgotten` node has ended',
    }),
    since: describedInstant('since when it has this membership'),
    isLocked: Type.Boolean({ description: 'true while a process runs as the node' }),
    seenAt: orNull(describedInstant('its last sign of life')),
    records: describedCount('records whose content is on the node, up to ten seconds old'),
    bytes: describedCount('bytes of this content'),
    total: orNull(describedCount('its records when it began to retire, or to be forgotten')),
    waits: Type.Optional(
      Type.Array(text, {
        description: 'sentences about what the node waits for after a set-back of the database; absent in 0.3.0',
      }),
    ),
  },
  { title: 'KnownNode' },
)

const list = route({
  ...owner,
  method: 'GET',
  path: '/nodes',
  summary: 'List the nodes of the catalogue',
  details:
    '`{nodes: [{id, url, number, state, membership, since, isLocked, seenAt, records, bytes, total, waits}]}`, empty for a single ' +
    'node. A node is `up`, `leaving` while it shuts down, or `down` after 30 seconds without a sign of life. The field ' +
    '`membership` is `active`, `retiring`, `retired`, `forgetting` or `forgotten`. While a process runs as the node, ' +
    '`isLocked` is true. The counts `records` and `bytes` may be ten seconds old. For a node that ends, `total` is the ' +
    'number of records at the beginning. The field `waits` says what the node waits for ' +
    'after a set-back of the database. While the node retires, it names the clusters of the records that move.',
  answers: { 200: Type.Object({ nodes: Type.Array(NodeView) }) },
  errors: ['UNAVAILABLE'],
  handler: async (_, { fleet }) => ({ status: 200, body: { nodes: ((await fleet?.list()) ?? []).map(presentNode) } }),
})

const retire = route({
  ...owner,
  method: 'POST',
  path: '/nodes/:id/retire',
  audit: 'node.retire',
  summary: 'Move the content of a node to another node',
  details:
    '202. Body: `{"to"}`, the id of the other node. The move runs in the background, and `GET /admin/v1/nodes` shows ' +
    'its progress. All records stay `pinned` and readable. At the end the node is `retired`. The call is refused if ' +
    'one of the two nodes is down, or if a node was started with a cluster on the retiring node. It is also refused for ' +
    'content in a cluster on another system, and while content of another node moves to the node. A repeated call ' +
    'with another `to` changes the destination.',
  params: { id: 'Its id, as listed.' },
  body: json(Type.Object({ to: required })),
  answers: { 202: Type.Object({ retiring: text, to: text }) },
  errors: ['NOT_FOUND', 'CONFLICT', 'UNAVAILABLE'],
  handler: async ({ param, body }, { fleet }) => {
    if (fleet === null) throw new HoldfastError('NOT_FOUND', 'this node runs alone')
    const { to } = await body()
    await fleet.retire(param('id'), to)
    return { status: 202, body: { retiring: param('id'), to } }
  },
})

const forget = route({
  ...owner,
  method: 'POST',
  path: '/nodes/:id/forget',
  audit: 'node.forget',
  summary: 'Give up a node whose disk is gone',
  details:
    '202. The nodes of its clusters take over its records in the background, which `GET /admin/v1/nodes` shows. ' +
    'Content that they find is fetched again. Content that nobody has becomes `failed`, with the reason "lost with ' +
    'node". The call is refused while a process runs as the node, and while a node was started with a cluster on it. ' +
    'With `isReplaced`, a new, empty directory will run under the id and take over its clusters.',
  params: { id: 'Its id, as listed.' },
  body: optionalJson(Type.Object({ isReplaced: Type.Optional(Type.Boolean()) })),
  answers: { 202: Type.Object({ forgetting: text }) },
  errors: ['NOT_FOUND', 'CONFLICT', 'UNAVAILABLE'],
  handler: async ({ param, body }, { fleet }) => {
    if (fleet === null) throw new HoldfastError('NOT_FOUND', 'this node runs alone')
    const { isReplaced = false } = await body()
    await fleet.forget(param('id'), { isReplaced })
    return { status: 202, body: { forgetting: param('id') } }
  },
})

const away = route({
  ...owner,
  method: 'POST',
  path: '/nodes/away',
  audit: 'node.away',
  summary: 'Have other nodes copy what nodes have that stay away',
  details:
    '202. Body: `{"nodes"}`, their ids. While more than one node of a cluster with several copies is away, the others wait ' +
    'for this call. A node that returns gets its content back, and the others release the further copies a day later.',
  body: json(Type.Object({ nodes: Type.Array(Type.String({ maxLength: 64 }), { minItems: 1, maxItems: 32 }) })),
  answers: { 202: Type.Object({ away: Type.Array(text) }) },
  errors: ['NOT_FOUND', 'CONFLICT', 'VALIDATION', 'UNAVAILABLE'],
  handler: async ({ body }, { fleet }) => {
    if (fleet === null) throw new HoldfastError('NOT_FOUND', 'this node runs alone')
    const { nodes } = await body()
    await fleet.confirmAway(nodes)
    return { status: 202, body: { away: nodes } }
  },
})

export const LostView = Type.Object(
  {
    account: Type.String({ description: 'id of the account' }),
    uploadId: text,
    clusterId: text,
    cid: text,
    name: orNull(text),
    size: count,
    status: text,
    reason: orNull(text),
    node: Type.String({ description: 'id of the lost node' }),
  },
  { title: 'LostRecord' },
)

const lost = route({
  ...owner,
  method: 'GET',
  path: '/lost',
  summary: 'List the records whose content was lost with a node',
  details:
    '`{records: [{account, uploadId, clusterId, cid, name, size, status, reason, node}], next}`, by account. A record is ' +
    'listed until its content is complete again. `limit` (100, at most 1,000), `after`.',
  query: { ...PAGE_QUERY, account: { description: 'An account, by its id.', schema: Type.String() } },
  answers: { 200: Type.Object({ records: Type.Array(LostView), next }, { title: 'LostRecords' }) },
  errors: ['VALIDATION', 'UNAVAILABLE'],
  handler: async ({ query }, { fleet }) => {
    const request = { ...pageRequest(query), account: query.get('account') ?? undefined }
    const page = (await fleet?.lost(request)) ?? { rows: [], next: null }
    const records = page.rows.map(({ accountId, statusReason, ...row }) => {
      return { account: accountId, reason: statusReason, ...row }
    })
    return { status: 200, body: { records, next: page.next } }
  },
})

const enableVisibility = route({
  ...owner,
  method: 'POST',
  path: '/visibility',
  audit: 'visibility.enable',
  summary: 'Let records be private in a database of an earlier version',
  details:
    'Run it once, after every node has this version. Until then, a private record is 409 `CONFLICT`. Afterwards, earlier ' +
    'versions refuse the database. A new database and a node without one always take private records.',
  answers: { 200: Type.Object({ enabled: Type.Literal(true) }) },
  errors: ['CONFLICT', 'UNAVAILABLE'],
  handler: async (_, services) => {
    await services.enableVisibility()
    return { status: 200, body: { enabled: true as const } }
  },
})

export const nodeRoutes: readonly ContractRoute[] = [list, retire, forget, away, lost, enableVisibility]

function presentNode({ state, stateAt, isThere, isLeaving, seenAt, name: _, ...node }: ListedNode) {
  const shown = isThere ? (isLeaving ? 'leaving' : 'up') : 'down'
  return { ...node, state: shown, membership: state, since: iso(stateAt), seenAt: iso(seenAt) } as const
}
