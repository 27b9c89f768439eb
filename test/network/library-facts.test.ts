import type { HeliaWithLibp2p } from '@helia/libp2p'
import type { ServiceMap } from '@libp2p/interface'
import { expect, test } from 'vitest'
import { libraryFile } from './support/library.ts'
import { withNodes } from './support/node.ts'

/**
 * Facts about the libraries of the network that our limits rely on, by file. The libraries export few of them. If a new
 * version changes one, read again what relies on it: the decision record `docs/decisions/libp2p.md` names the place.
 */
const FACTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  // An identify message has at most ten parts: the work of reading one is bounded before `peer-limits.ts`.
  '@libp2p/identify/dist/src/consts.js': { MAX_IDENTIFY_MESSAGE_SIZE: 8_192, MAX_IDENTIFY_MESSAGES: 10 },
  // `inbound-places.ts` raises the handshakes, and counts on the rate per host, the timeouts and the addresses dialled.
  'libp2p/dist/src/connection-manager/constants.js': {
    MAX_CONNECTIONS: 300,
    MAX_INCOMING_PENDING_CONNECTIONS: 10,
    INBOUND_CONNECTION_THRESHOLD: 5,
    INBOUND_UPGRADE_TIMEOUT: 10_000,
    PROTOCOL_NEGOTIATION_TIMEOUT: 10_000,
    MAX_PEER_ADDRS_TO_DIAL: 25,
  },
  'libp2p/dist/src/registrar.js': { DEFAULT_MAX_INBOUND_STREAMS: 32, DEFAULT_MAX_OUTBOUND_STREAMS: 64 },
  // `frame-turns.ts` reads the headers.
  '@libp2p/yamux/dist/src/frame.js': {
    HEADER_LENGTH: 12,
    YAMUX_VERSION: 0,
    FrameType: expect.objectContaining({ Data: 0, WindowUpdate: 1, Ping: 2, GoAway: 3 }),
  },
  '@libp2p/yamux/dist/src/constants.js': { INITIAL_STREAM_WINDOW: 262_144 },
  '@libp2p/yamux/dist/src/config.js': {
    defaultConfig: expect.objectContaining({
      maxInboundStreams: 1_000,
      maxEarlyStreams: 10,
      keepAliveInterval: 30_000,
    }),
  },
  // `whole-messages.ts` assembles messages of two bytes of length and at most 65,535 bytes.
  '@libp2p/noise/dist/src/constants.js': { NOISE_MSG_MAX_LENGTH_BYTES: 65_535, CHACHA_TAG_LENGTH: 16 },
  '@libp2p/multistream-select/dist/src/constants.js': { MAX_PROTOCOL_LENGTH: 1_024 },
  // `peer-limits.ts` limits the bytes of a stream, whose time the library limits.
  '@libp2p/ping/dist/src/constants.js': {
    PING_PROTOCOL: '/ipfs/ping/1.0.0',
    PING_LENGTH: 32,
    TIMEOUT: 10_000,
    MAX_INBOUND_STREAMS: 2,
  },
  // `stranger-records.ts` limits records by the prefix of their keys, and relies on the library to delete old ones.
  '@libp2p/peer-store/dist/src/utils/peer-id-to-datastore-key.js': { NAMESPACE_COMMON: '/peers/' },
  '@libp2p/peer-store/dist/src/constants.js': { MAX_ADDRESS_AGE: 3_600_000, MAX_PEER_AGE: 21_600_000 },
  '@libp2p/kad-dht/dist/src/constants.js': {
    PROVIDERS_VALIDITY: 172_800_000,
    PROVIDERS_CLEANUP_INTERVAL: 3_600_000,
    K: 20,
  },
  '@libp2p/kad-dht/dist/src/kad-dht.js': { DEFAULT_MAX_INBOUND_STREAMS: 32 },
}

test.each(Object.entries(FACTS))('%s has not changed', async (file, facts) => {
  expect(await libraryFile(file)).toMatchObject(facts)
})

test('records of the DHT have the prefixes that are limited', async () => {
  const { toProviderKey, bufferToRecordKey } = await libraryFile<{
    toProviderKey: (prefix: string, cid: string, peer: string) => unknown
    bufferToRecordKey: (prefix: string, key: Uint8Array) => unknown
  }>('@libp2p/kad-dht/dist/src/utils.js')
  expect(String(toProviderKey('/dht/provider', 'cid', 'peer'))).toBe('/dht/provider/cid/peer')
  expect(String(bufferToRecordKey('/dht/record', Buffer.of(0)))).toBe('/dht/record/aa')
})

/** Limits and attacks cover these. A client of the DHT takes no records of others, and identify push stays out. */
const SPOKEN = ['/ipfs/bitswap/1.2.0', '/ipfs/id/1.0.0', '/ipfs/ping/1.0.0']

test.each([
  ['off', SPOKEN],
  ['client', SPOKEN],
  ['server', [...SPOKEN, '/ipfs/lan/kad/1.0.0'].toSorted()],
] as const)('a node with the DHT %s speaks no other protocols', (dht, spoken) =>
  withNodes([() => ({ config: { dht } })], async node => {
    const { libp2p } = node.helia as HeliaWithLibp2p<ServiceMap>
    expect(libp2p.getProtocols().toSorted()).toEqual(spoken)
  }),
)
