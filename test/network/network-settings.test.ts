import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/config/config.ts'
import { peerAddress } from '../../src/network/addresses.ts'
import { gatewayUrl, networkSettings } from '../../src/network/network-settings.ts'

const id = '12D3KooWD3bfmNbuuuVCYwkjnFt3ukm3qaB3hDED3peHHXawvRAi'

describe('the settings of a network', () => {
  test('are private by default, without listeners on public interfaces', () => {
    expect(networkSettings({})).toEqual({
      network: expect.stringMatching(/^private [0-9a-f]{32}$/),
      listen: ['/ip4/127.0.0.1/tcp/0'],
      announce: [],
      bootstrap: [],
      peers: [],
      gateways: [],
      dht: 'off',
      dhtProtocol: '/ipfs/lan/kad/1.0.0',
      usesOnlyPublicBootstrap: false,
      isPublic: false,
      allowPrivateOrigins: false,
    })
  })

  test('follow the public preset, and each field can override it', () => {
    const settings = networkSettings({ preset: 'public' })
    expect(settings).toMatchObject({ dht: 'client', isPublic: true })
    expect(settings.listen).toContain('/ip4/0.0.0.0/tcp/4001')
    const starts = settings.bootstrap.map(({ addresses }) => String(addresses[0]))
    expect(starts.every(address => address.startsWith('/dnsaddr/bootstrap.libp2p.io/p2p/'))).toBe(true)
    const changed = { preset: 'public', listen: [], bootstrap: [], dht: 'off' } as const
    expect(networkSettings(changed)).toMatchObject({ listen: [], bootstrap: [], dht: 'off' })
  })

  test('refuse an address of more than 1,024 characters', () => {
    const address = (length: number): string => `/dns4/${'a'.repeat(length - '/dns4//tcp/1'.length)}/tcp/1`
    expect(networkSettings({ announce: [address(1_024)] }).announce).toHaveLength(1)
    expect(() => networkSettings({ announce: [address(1_025)] })).toThrow(
      'network.announce.0: has more than 1024 characters',
    )
  })

  test('accept peers with and without addresses', () => {
    expect(peerAddress(`/p2p/${id}`)).toMatchObject({ addresses: [] })
    expect(String(peerAddress(`/dns4/example.org/tcp/4001/p2p/${id}`).addresses[0])).toContain('example.org')
    expect(() => peerAddress('/dns4/example.org/tcp/4001')).toThrow('must end in /p2p/')
  })

  test.each([
    ['https://example.org', 'https://example.org/'],
    ['https://example.org/ipfs/', 'https://example.org/'],
    ['https://example.org/some/where/ipfs', 'https://example.org/some/where'],
  ])('read the gateway %s as %s', (given, read) => expect(gatewayUrl(given).href).toBe(read))

  test('are validated with the rest of the configuration', () => {
    expect(parseConfig({ network: { enabled: true, preset: 'public' } }, 'x').network).toEqual({
      enabled: true,
      preset: 'public',
    })
    expect(() => parseConfig({ network: { dht: 'yes' } }, 'x')).toThrow(/^x: network\.dht: must be "off"/)
    expect(() => parseConfig({ network: { peer: [] } }, 'x')).toThrow(
      'x: network: unknown key peer, did you mean peers?',
    )
  })
})
