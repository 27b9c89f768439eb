import { expect, test, vi } from 'vitest'
import { WebRedirects } from '../../src/gateway/site/web-redirects.ts'

test('encodes values only for the matching rule', () => {
  const others = ['/:a/:b/other /x', '/:a /x', '/:a/:b/:c/* /x', '/other/* /x']
  const rules = new WebRedirects(Buffer.from([...others, '/:a/:b /:b/:a'].join('\n')))
  const encode = vi.spyOn(globalThis, 'encodeURIComponent')
  try {
    expect(rules.match(['é', 'b'])).toEqual({ to: '/b/%C3%A9', status: 301 })
    expect(encode.mock.calls.map(([value]) => value)).toEqual(['é', 'b'])
  } finally {
    encode.mockRestore()
  }
})
