import { Type } from 'typebox'
import type { ListedNode } from '../../catalogue/fleet.ts'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, instant, text } from '../answer-fields.ts'
import { required } from '../body-reader.ts'
import { type ContractRoute, json, route } from '../contract-route.ts'

const owner = { access: 'owner', tag: 'The owner' } as const

const NodeView = Type.Object(
  {
    id: text,
    url: text,
    number: count,
    state: Type.Enum(['up', 'leaving', 'down']),
    membership: Type.Enum(['active', 'retiring', 'retired', 'forgetting', 'forgotten']),
    since: instant,
    isLocked: Type.Boolean(),
    seenAt: orNull(instant),
    records: count,
    bytes: count,
    total: orNull(count),
  },
  { title: 'KnownNode' },
)

const list = route({
  ...owner,
  method: 'GET',
  path: '/nodes',
  summary: 'List the nodes of the catalogue',
  details:
    '`{nodes: [{id, url, number, state, membership, since, isLocked, seenAt, records, bytes, total}]}`, empty for a single ' +
    'node. A node is `up`, `leaving` while it shuts down, or `down` after 30 seconds without a sign of life. The field ' +
    '`membership` is `active`, `retiring`, `retired`, `forgetting` or `forgotten`. While a process runs as the node, ' +
    '`isLocked` is true. The counts `records` and `bytes` may be ten seconds old. For a node that ends, `total` is the ' +
    'number of records at the beginning.',
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
    '202. Body: `{"to"}`, the id of the other node. The move runs in the background, and `GET /nodes` shows its ' +
    'progress. All records stay `pinned` and readable. At the end the node is `retired`. The call is refused if ' +
    'one of the two nodes is down, or if a node was started with a cluster on the retiring node. It is also refused for ' +
    'content in a cluster on another system. A repeated call with another `to` changes the destination.',
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

export const nodeRoutes: readonly ContractRoute[] = [list, retire]

function presentNode({ state, stateAt, isThere, isLeaving, seenAt, name: _, ...node }: ListedNode) {
  const shown = isThere ? (isLeaving ? 'leaving' : 'up') : 'down'
  return { ...node, state: shown, membership: state, since: iso(stateAt), seenAt: iso(seenAt) } as const
}
