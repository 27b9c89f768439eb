import { Type } from 'typebox'
import { HoldfastError } from '../domain/errors.ts'
import { count, text } from './answer-fields.ts'
import { type ContractRoute, route } from './contract-route.ts'

const Health = Type.Object(
  {
    status: Type.Union([
      Type.Literal('ok'),
      Type.Literal('full'),
      Type.Literal('failed'),
      Type.Literal('stopping'),
      Type.Literal('no-claim'),
      Type.Literal('no-catalogue'),
      Type.Literal('clock-skew'),
      Type.Literal('no-storage'),
    ]),
  },
  { title: 'Health' },
)

const Ready = Type.Object(
  {
    ...Health.properties,
    network: Type.Optional(
      Type.Literal('no-peers', { description: 'The node belongs to the public network and has no peers' }),
    ),
    reason: Type.Optional(
      Type.String({ description: 'With `no-storage`: which storage failed and why, without paths' }),
    ),
    absent: Type.Optional(
      Type.Array(text, { description: 'The clusters that are declared absent; omitted if there are none' }),
    ),
  },
  { title: 'Ready' },
)

const about = route({
  method: 'GET',
  path: '',
  access: 'public',
  tag: 'Node',
  summary: 'Name and version',
  answers: { 200: Type.Object({ name: Type.Literal('holdfast'), version: text }, { title: 'About' }) },
  handler: (_, { version }) => ({ status: 200, body: { name: 'holdfast', version } }),
})

/** Liveness probe. The status is 503 only if a restart can help. */
export const health = route({
  method: 'GET',
  path: '/health',
  access: 'public',
  tag: 'Node',
  summary: 'Show whether the node works',
  details:
    'A `full` node refuses new content until it has space. With `failed` and 503, a write to disk failed, and the node ' +
    'writes nothing more until a restart. See `/ready` for the others. Also at `/health` outside the versioned base.',
  answers: { 200: Health, 503: Health },
  handler: (_, services) => {
    const status = services.health.status()
    return { status: status === 'failed' ? 503 : 200, body: { status } }
  },
})

/** Readiness probe for load balancers. The status is 503 even if the node refuses only new content. */
export const ready = route({
  method: 'GET',
  path: '/ready',
  access: 'public',
  tag: 'Node',
  summary: 'Show whether the node accepts new content',
  details:
    '503 if it does not: for load balancers, and to wait for a start. A `full` node still serves its content. A ' +
    '`stopping` node answers requests until it ends. With `no-claim`, the node was given up while it was cut off, or ' +
    'another process runs as it. With `no-catalogue`, the PostgreSQL catalogue is unreachable or read-only. With ' +
    '`clock-skew`, its clock and the node’s are over two seconds apart. With `no-storage`, a block directory is missing, ' +
    'replaced or read-only, and `reason` names it. The node stays ready without peers on the public network ' +
    '(`network`) and with clusters that are declared `absent`. Also at `/ready` outside the versioned base.',
  answers: { 200: Ready, 503: Ready },
  handler: (_, { health, peers, clusters }) => {
    const status = health.status()
    health.probed(status === 'ok')
    const { absent } = clusters
    const network = peers.publicNetwork() === 'no-peers' ? { network: 'no-peers' as const } : {}
    const reason = status === 'no-storage' ? health.storageProblem() : null
    const body = { status, ...network, ...(reason !== null && { reason }), ...(absent.length > 0 && { absent }) }
    return { status: status === 'ok' ? 200 : 503, body }
  },
})

/** Ids and addresses of peers are not public. */
const peers = route({
  method: 'GET',
  path: '/peers',
  access: 'public',
  tag: 'Node',
  summary: 'Count the connected peers',
  answers: {
    200: Type.Object({ peers: Type.Array(text, { description: 'always empty' }), count }, { title: 'Peers' }),
  },
  handler: (_, services) => ({ status: 200, body: { peers: [], count: services.peers.peerCount() } }),
})

export const metaRoutes: readonly ContractRoute[] = [about, health, ready, peers]

/** Routes that refuse requests of older API versions. */
export const goneRoutes: readonly ContractRoute[] = ['/api/v1/*rest', '/api/v2/*rest'].map(path =>
  route({
    method: '*',
    path,
    access: 'public',
    tag: 'Node',
    summary: 'Refused: older versions of the API',
    answers: {},
    errors: ['GONE'],
    handler: () => {
      throw new HoldfastError('GONE', 'this API version was removed: use /api/v3')
    },
  }),
)
