import { describe, expect, test } from 'vitest'
import { filtered, filtersOf, type PeerRecord } from '../../../src/features/routing/peer-record.ts'

const QUIC = '/ip4/192.0.2.1/udp/4001/quic-v1'
const TLS = '/dns/content.example.org/tcp/443/tls/http'
const TCP = '/ip6/2001:db8::1/tcp/4001'
const RELAYED = '/ip4/192.0.2.9/tcp/4001/p2p/12D3KooWJbWdH4nHnZqbr7Zd8ocHuaGmQmQBLYAD5kGa3mkFqkYV/p2p-circuit'
const ALL = [QUIC, TLS, TCP, RELAYED]
const WS = '/ip4/192.0.2.1/tcp/4001/ws'
const WSS = '/dns4/peer.example.org/tcp/443/wss'
const WEBTRANSPORT =
  '/ip4/192.0.2.1/udp/4001/quic-v1/webtransport/certhash/uEiCZqN653gMqxrWNmYuNg7Emwb-wvtsuzGE3XD6rypViZA'
const WEBRTC = '/ip4/192.0.2.1/udp/4001/webrtc-direct/certhash/uEiCZqN653gMqxrWNmYuNg7Emwb-wvtsuzGE3XD6rypViZA'
const RELAYED_WEBTRANSPORT = WEBTRANSPORT + RELAYED.slice(RELAYED.indexOf('/p2p/'))
/** Addresses of browsers and relays, as boxo's tests have them. */
const MANY = [TCP, QUIC, WS, WSS, RELAYED, WEBTRANSPORT, RELAYED_WEBTRANSPORT, WEBRTC]
const BOTH = ['transport-bitswap', 'transport-ipfs-gateway-http']

/** Filters of a query, and what is left of a record with these addresses and protocols: its addresses, or null. */
const cases: ReadonlyArray<[query: string, addrs: string[], protocols: string[], left: string[] | null]> = [
  ['', ALL, BOTH, ALL],
  ['', [], [], []],
  ['filter-addrs=', ALL, BOTH, ALL],
  ['filter-addrs=quic-v1', ALL, BOTH, [QUIC]],
  ['filter-addrs=QUIC-v1', ALL, BOTH, [QUIC]],
  ['filter-addrs=quic', ALL, BOTH, null],
  ['filter-addrs=tcp', ALL, BOTH, [TLS, TCP, RELAYED]],
  ['filter-addrs=tcp,!tls', ALL, BOTH, [TCP, RELAYED]],
  ['filter-addrs=!tcp', ALL, BOTH, [QUIC]],
  ['filter-addrs=!p2p-circuit', ALL, BOTH, [QUIC, TLS, TCP]],
  ['filter-addrs=!tcp,!udp', ALL, BOTH, null],
  ['filter-addrs=http,quic-v1', ALL, BOTH, [QUIC, TLS]],
  ['filter-addrs=unknown', ALL, BOTH, null],
  ['filter-addrs=unknown', [], BOTH, []],
  ['filter-addrs=tcp,unknown', [], BOTH, []],
  ['filter-addrs=tcp', [], BOTH, null],
  ['filter-addrs=tcp', MANY, BOTH, [TCP, WS, WSS, RELAYED]],
  ['filter-addrs=udp', MANY, BOTH, [QUIC, WEBTRANSPORT, RELAYED_WEBTRANSPORT, WEBRTC]],
  ['filter-addrs=ws', MANY, BOTH, [WS]],
  ['filter-addrs=tcp,ws', MANY, BOTH, [TCP, WS, WSS, RELAYED]],
  ['filter-addrs=!tcp,!ws', MANY, BOTH, [QUIC, WEBTRANSPORT, RELAYED_WEBTRANSPORT, WEBRTC]],
  ['filter-addrs=tcp,!ws,!wss,!p2p-circuit', MANY, BOTH, [TCP]],
  ['filter-addrs=webtransport,!p2p-circuit', MANY, BOTH, [WEBTRANSPORT]],
  ['filter-addrs=webtransport,!p2p-circuit,unknown', MANY, BOTH, [WEBTRANSPORT]],
  ['filter-addrs=webtransport,wss,webrtc-direct,!p2p-circuit', MANY, BOTH, [WSS, WEBTRANSPORT, WEBRTC]],
  ['filter-addrs=webtransport,of-nobody', MANY, BOTH, [WEBTRANSPORT, RELAYED_WEBTRANSPORT]],
  ['filter-addrs=of-nobody', MANY, BOTH, null],
  ['filter-addrs=quic-v1&filter-protocols=transport-bitswap', MANY, BOTH, [QUIC, WEBTRANSPORT, RELAYED_WEBTRANSPORT]],
  ['filter-protocols=transport-bitswap', ALL, BOTH, ALL],
  ['filter-protocols=Transport-Bitswap', ALL, BOTH, ALL],
  ['filter-protocols=transport-graphsync-filecoinv1', ALL, BOTH, null],
  ['filter-protocols=transport-graphsync-filecoinv1,transport-ipfs-gateway-http', ALL, BOTH, ALL],
  ['filter-protocols=unknown', ALL, BOTH, null],
  ['filter-protocols=unknown', ALL, [], ALL],
  ['filter-protocols=unknown,transport-bitswap,transport-ipfs-gateway-http', ALL, [], ALL],
  ['filter-protocols=unknown,transport-bitswap,transport-ipfs-gateway-http', ALL, ['transport-bitswap'], ALL],
  ['filter-protocols=unknown,transport-bitswap', ALL, ['transport-graphsync-filecoinv1'], null],
  ['filter-protocols=transport-bitswap&filter-addrs=tls', ALL, BOTH, [TLS]],
  ['filter-protocols=transport-bitswap&filter-addrs=tls', ALL, ['transport-ipfs-gateway-http'], null],
]

describe('filters of records (IPIP-0484)', () => {
  test.each(cases)('%s', (query, Addrs, Protocols, left) => {
    const record: PeerRecord = { Schema: 'peer', ID: '12D3KooW', Addrs, Protocols }
    const found = filtered(record, filtersOf(new URLSearchParams(query)))
    expect(found).toEqual(left === null ? null : { ...record, Addrs: left })
  })
})
