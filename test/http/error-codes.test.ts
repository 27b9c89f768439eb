import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type ErrorCode, HoldfastError } from '../../src/domain/errors.ts'
import { ERROR_TABLE } from '../../src/http/error-codes.ts'
import { errorResponse } from '../../src/http/error-response.ts'

function body(error: unknown): Record<string, unknown> {
  const { body } = errorResponse(error, 'request-1')
  return JSON.parse(String(body))
}

const source = readFileSync(new URL('../../src/domain/errors.ts', import.meta.url), 'utf8')
const codes = [...source.matchAll(/^ {2}\| '(\w+)'$/gm)].map(([, code]) => code as ErrorCode)

describe('the error table', () => {
  test('has a status and reason phrase for exactly the known codes', () => {
    expect(codes.length).toBeGreaterThan(25)
    expect(Object.keys(ERROR_TABLE).toSorted()).toEqual(codes.toSorted())
    for (const code of codes) {
      expect(ERROR_TABLE[code].status, code).toBeGreaterThanOrEqual(400)
      const answer = errorResponse(new HoldfastError(code, 'some field is wrong'), 'request-1')
      expect(answer.status).toBe(ERROR_TABLE[code].status)
      expect(answer.headers['content-type']).toContain('application/json')
      expect(body(new HoldfastError(code, 'some field is wrong')).error, code).not.toBe('Error')
    }
  })

  test('an error carries its message, code and details', () => {
    const error = new HoldfastError('missing_scope', 'the key lacks files:write', {
      details: { required: 'files:write' },
    })
    expect(body(error)).toEqual({
      error: 'Forbidden',
      message: 'the key lacks files:write',
      code: 'missing_scope',
      required: 'files:write',
    })
  })

  test('an unknown error reveals nothing and names the request', () => {
    const answer = body(new Error('EACCES: /var/lib/secret', { cause: new Error('more') }))
    expect(answer).toMatchObject({ error: 'Internal Server Error', code: 'INTERNAL_ERROR', requestId: 'request-1' })
    expect(JSON.stringify(answer)).not.toContain('secret')
    expect(body('a thrown string').code).toBe('INTERNAL_ERROR')
    expect(JSON.stringify(body(new HoldfastError('DATA_DIR_UNUSABLE', '/var/lib/secret')))).not.toContain('secret')
  })

  test.each(['ENOSPC', 'EDQUOT', 'SQLITE_FULL'])('%s in the causes means that the storage is full', code => {
    const full = Object.assign(new Error('no space'), { code })
    const wrapped = new HoldfastError('INTERNAL_ERROR', 'writing failed', {
      cause: new Error('write', { cause: full }),
    })
    expect(errorResponse(wrapped, 'r').status).toBe(507)
    expect(body(full).code).toBe('STORAGE_FULL')
  })

  test('codes have their headers', () => {
    const headers = (error: HoldfastError) => errorResponse(error, 'r').headers
    expect(headers(new HoldfastError('INVALID_API_KEY', 'x'))['www-authenticate']).toBe('Bearer')
    expect(headers(new HoldfastError('UNAVAILABLE', 'x'))['retry-after']).toMatch(/^\d+$/)
    expect(headers(new HoldfastError('METHOD_NOT_ALLOWED', 'x', { details: { allow: 'GET' } })).allow).toBe('GET')
    const details = { retryAfter: 7, limit: 10, remaining: 0, resetTime: '2026-01-01T00:00:07.000Z' }
    expect(headers(new HoldfastError('RATE_LIMIT', 'x', { details }))).toMatchObject({
      'retry-after': '7',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Date.parse(details.resetTime) / 1000),
    })
  })
})
