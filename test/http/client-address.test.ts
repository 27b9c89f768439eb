import fc from 'fast-check'
import { expect, test } from 'vitest'
import { shareOf } from '../../src/domain/address-share.ts'
import { clientAddress } from '../../src/http/client-address.ts'

const PEER = '10.0.0.1'

test.each<[header: string | undefined, proxies: number, client: string | undefined]>([
  ['192.0.2.1', 0, PEER],
  [undefined, 1, PEER],
  ['', 1, PEER],
  ['192.0.2.1', 1, '192.0.2.1'],
  ['6.6.6.6, 192.0.2.1', 1, '192.0.2.1'],
  ['6.6.6.6,192.0.2.1 , 10.0.0.2', 2, '192.0.2.1'],
  ['192.0.2.1', 3, '192.0.2.1'],
  ['192.0.2.1:4711', 1, '192.0.2.1'],
  ['[2001:db8::1]:4711', 1, '2001:db8::1'],
  ['[2001:db8::1]', 1, '2001:db8::1'],
  ['2001:db8::1', 1, '2001:db8::1'],
  ['unknown', 1, undefined],
  ['192.0.2.1,', 1, undefined],
  ['192.0.2.1, _hidden', 1, undefined],
])('%j through %i proxies is %j', (header, proxies, client) => {
  expect(clientAddress(PEER, header, proxies)).toBe(client)
})

test('entries that the client adds have no effect', () => {
  const proxied = fc.array(fc.ipV4(), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(fc.string(), proxied, (forged, added) => {
      expect(clientAddress(PEER, [forged, ...added].join(','), added.length)).toBe(added[0])
    }),
  )
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:0:1:2:3:4:5', '2001:db8:0:1::/64'],
  ['2001:DB8:0:1::5', '2001:db8:0:1::/64'],
  ['2001:db8::5', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  [undefined, 'unknown'],
])('%s shares limits as %s', (address, share) => {
  expect(shareOf(address)).toBe(share)
})
