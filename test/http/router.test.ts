import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../../src/domain/errors.ts'
import { jsonResponse } from '../../src/http/json-body.ts'
import type { Route } from '../../src/http/route.ts'
import { Router } from '../../src/http/router.ts'

function route(method: string, path: string): Route {
  return { method, path, access: 'public', handler: () => jsonResponse(200, {}) }
}

const router = new Router([
  route('GET', '/api/v3'),
  route('POST', '/api/v3/files'),
  route('POST', '/api/v3/files/pin/*cid'),
  route('GET', '/api/v3/users/me/uploads'),
  route('DELETE', '/api/v3/users/me/uploads/:cid'),
  route('DELETE', '/api/v3/tokens/revoke/:name'),
  route('*', '/api/v1/*rest'),
])

function found(method: string, path: string): string {
  const { route, params } = router.match(method, path)
  return [route.path, ...[...params].map(([name, value]) => `${name}=${value}`)].join(' ')
}

function refusal(method: string, path: string): { code: string; allow: unknown } {
  try {
    router.match(method, path)
  } catch (error) {
    if (isHoldfastError(error)) return { code: error.code, allow: error.details.allow }
    throw error
  }
  throw new Error(`${method} ${path} was routed`)
}

describe('router', () => {
  test.each([
    ['GET', '/api/v3', '/api/v3'],
    ['GET', '/api/v3/', '/api/v3'],
    ['HEAD', '/api/v3', '/api/v3'],
    ['POST', '/api/v3/files/', '/api/v3/files'],
    ['POST', '/api/v3/files/pin/bafy', '/api/v3/files/pin/*cid cid=bafy'],
    ['POST', '/api/v3/files/pin/bafy/', '/api/v3/files/pin/*cid cid=bafy'],
    ['POST', '/api/v3/files/pin/ipfs://bafy/a', '/api/v3/files/pin/*cid cid=ipfs://bafy/a'],
    ['POST', '/api/v3/files/pin//ipfs/bafy', '/api/v3/files/pin/*cid cid=/ipfs/bafy'],
    ['POST', '/api/v3/files/pin', '/api/v3/files/pin/*cid cid='],
    ['DELETE', '/api/v3/tokens/revoke/my%20key', '/api/v3/tokens/revoke/:name name=my key'],
    ['DELETE', '/api/v3/tokens/revoke/a%2Fb', '/api/v3/tokens/revoke/:name name=a/b'],
    ['PATCH', '/api/v1', '/api/v1/*rest rest='],
    ['GET', '/api/v1/files/x', '/api/v1/*rest rest=files/x'],
  ])('%s %s', (method, path, expected) => {
    expect(found(method, path)).toBe(expected)
  })

  test.each([
    ['/'],
    [''],
    ['/api'],
    ['/api/v3/filesx'],
    ['/api/v3/tokens/revoke/'],
    ['/api/v3/tokens/revoke/a/b'],
    ['*'],
  ])('finds no route at %s', path => {
    expect(refusal('GET', path).code).toBe('NOT_FOUND')
  })

  test('a wrong method gives an error with the supported ones', () => {
    expect(refusal('GET', '/api/v3/files')).toEqual({ code: 'METHOD_NOT_ALLOWED', allow: 'POST, OPTIONS' })
    expect(refusal('PUT', '/api/v3')).toEqual({ code: 'METHOD_NOT_ALLOWED', allow: 'GET, HEAD, OPTIONS' })
  })

  test('a parameter with U+0000 stays percent-encoded', () => {
    expect(found('DELETE', '/api/v3/tokens/revoke/a%00')).toBe('/api/v3/tokens/revoke/:name name=a%00')
  })

  test('malformed percent-encoding gives an error with the parameter', () => {
    expect(() => router.match('DELETE', '/api/v3/tokens/revoke/%E0%A4')).toThrow('name in the path')
    expect(refusal('POST', '/api/v3/files/pin/%zz').code).toBe('VALIDATION')
  })
})
