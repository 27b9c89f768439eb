import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { iso } from '../../domain/iso-instant.ts'
import { HISTORY_STEPS, type HistoryStep } from '../../upkeep/history.ts'
import { count, describedCount, instant, text } from '../answer-fields.ts'
import { type ContractRoute, route } from '../contract-route.ts'

const MOST_PEERS = 1_000

const owner = { access: 'owner', tag: 'The owner' } as const

export const SampleView = Type.Object({
  at: instant,
  requests: count,
  refused: describedCount('requests answered with a 4xx status'),
  failed: describedCount('requests answered with a 5xx status'),
  receivedBytes: count,
  sentBytes: count,
  storedBytes: orNull(count),
  pins: orNull(count),
  freeBytes: orNull(count),
  peers: orNull(count),
})

export const HistoryView = Type.Object({ stepSeconds: count, samples: Type.Array(SampleView) }, { title: 'History' })

const history = route({
  ...owner,
  method: 'GET',
  path: '/history',
  summary: 'Show the recent load and storage of the node',
  details:
    '`{stepSeconds, samples: [{at, requests, refused, failed, receivedBytes, sentBytes, storedBytes, pins, freeBytes, ' +
    'peers}]}`, oldest first. The last sample is incomplete. Three hours by the minute, or with `step=900` three days by ' +
    'the quarter of an hour. Kept in memory, so it begins with the start of the node.',
  query: { step: { description: '60 (default) or 900.', schema: Type.Integer({ enum: [...HISTORY_STEPS] }) } },
  answers: { 200: HistoryView },
  errors: ['VALIDATION'],
  handler: ({ query }, services) => {
    const stepSeconds = stepOf(query.get('step'))
    const samples = services.history.samples(stepSeconds).map(sample => ({ ...sample, at: iso(sample.at) }))
    return { status: 200, body: { stepSeconds, samples } }
  },
})

export const FailureView = Type.Object({
  at: instant,
  level: Type.Enum(['warn', 'error']),
  message: text,
  about: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
})

const failures = route({
  ...owner,
  method: 'GET',
  path: '/failures',
  summary: 'List recent warnings and errors',
  details:
    '`{failures: [{at, level, message, about}]}`, newest first: the last 200 warnings and errors since the start. They have ' +
    'no paths, addresses or client input. The log has the full entries, by `about.requestId`.',
  answers: { 200: Type.Object({ failures: Type.Array(FailureView) }, { title: 'Failures' }) },
  handler: (_, services) => ({
    status: 200,
    body: { failures: services.failures.all.map(failure => ({ ...failure, at: iso(failure.at) })) },
  }),
})

const PeerView = Type.Object({
  id: text,
  address: text,
  direction: Type.Enum(['inbound', 'outbound']),
  since: instant,
})

export const ConnectedPeers = Type.Object(
  {
    peerId: orNull(Type.String({ description: 'null while networking is off' })),
    addresses: Type.Array(text),
    peers: Type.Array(PeerView, { description: 'the first 1,000 connections' }),
    count,
  },
  { title: 'ConnectedPeers' },
)

const peers = route({
  ...owner,
  method: 'GET',
  path: '/peers',
  summary: 'List connected peers and the addresses of the node',
  details:
    '`{peerId, addresses, peers: [{id, address, direction, since}], count}`: the first 1,000 connections. `peerId` is ' +
    'null while networking is off.',
  answers: { 200: ConnectedPeers },
  handler: (_, { peers }) => {
    const connected = peers.connections().slice(0, MOST_PEERS)
    return {
      status: 200,
      body: {
        peerId: peers.peerId(),
        addresses: peers.addresses(),
        peers: connected.map(({ since, ...peer }) => ({ ...peer, since: iso(since) })),
        count: peers.peerCount(),
      },
    }
  },
})

export const adminWatchRoutes: readonly ContractRoute[] = [history, failures, peers]

function stepOf(given: string | null): HistoryStep {
  const step = HISTORY_STEPS.find(seconds => String(seconds) === (given ?? '60'))
  if (step === undefined) throw new HoldfastError('VALIDATION', `step must be one of ${HISTORY_STEPS.join(', ')}`)
  return step
}
