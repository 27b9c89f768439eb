import { Type } from 'typebox'
import type { ListedNode } from '../../catalogue/fleet.ts'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, instant, text } from '../answer-fields.ts'
import { type ContractRoute, route } from '../contract-route.ts'

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

export const nodeRoutes: readonly ContractRoute[] = [list]

function presentNode({ state, stateAt, isThere, isLeaving, seenAt, name: _, ...node }: ListedNode) {
  const shown = isThere ? (isLeaving ? 'leaving' : 'up') : 'down'
  return { ...node, state: shown, membership: state, since: iso(stateAt), seenAt: iso(seenAt) } as const
}
