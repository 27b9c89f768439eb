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
      Type.Literal('no-peers', { description: 'The node belongs to the public network and reaches nobody there' }),
    ),
    reason: Type.Optional(
      Type.String({ description: 'With `no-storage`: which blocks cannot be kept, and why, without paths' }),
    ),
    absent: Type.Optional(
      Type.Array(text, { description: 'The clusters that are declared absent; left out where there are none' }),
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

/** 503 only where a restart is what helps. */
export const health = route({
  method: 'GET',
  path: '/health',
  access: 'public',
  tag: 'Node',
  summary: 'Whether the node answers',
  details:
    '`full`: new content is refused until there is room, everything else goes on. `failed`, with 503: the disk has ' +
    'failed a write, and nothing more is written until a restart. The others are what `/ready` tells. Also at `/health` outside the versioned base.',
  answers: { 200: Health, 503: Health },
  handler: (_, services) => {
    const status = services.health.status()
    return { status: status === 'failed' ? 503 : 200, body: { status } }
  },
})

/** For who sends work: also 503 where only new content is refused. */
export const ready = route({
  method: 'GET',
  path: '/ready',
  access: 'public',
  tag: 'Node',
  summary: 'Whether the node takes new content',
  details:
    '503 as soon as it does not, or should not: for balancers, and for whoever waits for a start. What is here is still ' +
    'served while it is `full`. `stopping`: it ends soon, and does what it is asked until then. With a PostgreSQL catalogue also ' +
    '`no-catalogue`, which cannot be reached or written to, and `clock-skew`, whose clock is over two seconds from the ' +
    'node’s. `no-storage`: the directory of blocks of the node or of a cluster is gone, replaced or cannot be written; ' +
    '`reason` names it. `network` tells that the public network has no peers, and `absent` names clusters that are ' +
    'declared absent; neither makes the node unready. Also at `/ready` outside the versioned base.',
  answers: { 200: Ready, 503: Ready },
  handler: (_, { health, peers, clusters }) => {
    const status = health.status()
    const { absent } = clusters
    const network = peers.publicNetwork() === 'no-peers' ? { network: 'no-peers' as const } : {}
    const reason = status === 'no-storage' ? health.storageProblem() : null
    const body = { status, ...network, ...(reason !== null && { reason }), ...(absent.length > 0 && { absent }) }
    return { status: status === 'ok' ? 200 : 503, body }
  },
})

/** How many, never who or where. */
const peers = route({
  method: 'GET',
  path: '/peers',
  access: 'public',
  tag: 'Node',
  summary: 'How many peers are connected',
  answers: {
    200: Type.Object({ peers: Type.Array(text, { description: 'empty: nobody is named' }), count }, { title: 'Peers' }),
  },
  handler: (_, services) => ({ status: 200, body: { peers: [], count: services.peers.peerCount() } }),
})

/** What the service says of itself, without credentials. */
export const metaRoutes: readonly ContractRoute[] = [about, health, ready, peers]

/** Older versions of the contract. */
export const goneRoutes: readonly ContractRoute[] = ['/api/v1/*rest', '/api/v2/*rest'].map(path =>
  route({
    method: '*',
    path,
    access: 'public',
    tag: 'Node',
    summary: 'Refused: an older version of the API',
    answers: {},
    errors: ['GONE'],
    handler: () => {
      throw new HoldfastError('GONE', 'this version of the API is gone: use /api/v3')
    },
  }),
)
