import { type SpecData, Validator } from '@seriousme/openapi-schema-validator'
import { Compile } from 'typebox/schema'
import { beforeAll, describe, expect, test } from 'vitest'
import { AUDIT_ACTIONS } from '../../src/access/audit-actions.ts'
import { bindRoutes } from '../../src/contract/contract-route.ts'
import { documentPath, type OpenApiDocument } from '../../src/contract/openapi/openapi-document.ts'
import { BASE_PATH } from '../../src/contract/routes.ts'
import type { Services } from '../../src/contract/services.ts'
import { isHoldfastError } from '../../src/domain/errors.ts'
import { allRoutes } from '../../src/features/all-routes.ts'
import { Router } from '../../src/http/router.ts'
import { audits } from './audits.ts'
import { type Host, hosts, openWorld } from './hosts.ts'
import type { Answer, RequestOptions } from './world.ts'

interface Exchange {
  method: string
  path: string
  options: RequestOptions
  answer: Answer
}

const { contract, groups } = await allRoutes()
/** The API's route table, bound to services that are never called. */
// Routes with another base have their own documents.
const rows = bindRoutes(
  groups.filter(({ base }) => base === BASE_PATH || base === ''),
  {} as Services,
)
const router = new Router(rows)
const described = rows.filter(({ method, path }) => method !== '*' && path.startsWith(BASE_PATH))
/** Successes that no audit sees, and the test of each. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'PUT /api/v3/files/visibility/:uploadId 202':
    'test/adapters/fleet/revision-processes.test.ts, of a node that stands still',
}
const exchanges: Exchange[] = []
let document: OpenApiDocument

/** The first host, which records all exchanges. */
const recorder: Host = {
  name: 'recorder',
  serve: async engine => {
    const { client, close } = await (hosts[0] as Host).serve(engine)
    const request = async (method: string, path: string, options: RequestOptions = {}): Promise<Answer> => {
      const answer = await client.request(method, path, options)
      exchanges.push({ method, path, options, answer })
      return answer
    }
    return { client: { request }, close }
  },
}

beforeAll(async () => {
  const world = await openWorld(recorder)
  try {
    document = (await world.client.request('GET', `${BASE_PATH}/openapi.json`)).json
    const page = await world.client.request('GET', `${BASE_PATH}/docs`)
    expect(page.status).toBe(200)
    for (const audit of audits) await audit.run(world)
  } finally {
    await world.close()
  }
}, 180_000)

/** Returns the route of a request, or the code of the error if none matches. */
function rowOf({ method, path }: Exchange): (typeof rows)[number] | 'NOT_FOUND' | 'METHOD_NOT_ALLOWED' | 'VALIDATION' {
  try {
    return router.match(method, path.split('?', 1)[0] ?? '').route
  } catch (error) {
    for (const code of ['NOT_FOUND', 'METHOD_NOT_ALLOWED', 'VALIDATION'] as const) {
      if (isHoldfastError(error, code)) return code
    }
    throw error
  }
}

function keyOf({ method, path }: { method: string; path: string }): string {
  return `${method} ${path.slice(BASE_PATH.length)}`
}

function operationOf(row: { method: string; path: string }) {
  return document.paths[documentPath(row.path.slice(BASE_PATH.length))]?.[row.method.toLowerCase()]
}

// biome-ignore lint/suspicious/noExplicitAny: a schema is walked here, not typed
type AnySchema = any

/** Returns the schema with all objects closed, so that it rejects undocumented fields. */
function closed(schema: AnySchema): AnySchema {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const inner = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]))
  return 'properties' in schema && !('additionalProperties' in schema)
    ? { ...inner, unevaluatedProperties: false }
    : inner
}

const compiled = new Map<string, (value: unknown) => string[]>()

/** Returns the violations of a schema of the document. */
function faults(schema: AnySchema, value: unknown, strict: boolean): string[] {
  const key = JSON.stringify([schema, strict])
  let check = compiled.get(key)
  if (check === undefined) {
    const whole = { ...schema, components: document.components }
    const validator = Compile(strict ? closed(whole) : whole)
    check = given =>
      validator.Check(given)
        ? []
        : validator.Errors(given)[1].map(({ instancePath, message }) => `${instancePath} ${message}`)
    compiled.set(key, check)
  }
  return check(value)
}

describe('the OpenAPI document', () => {
  test('is valid', async () => {
    const outcome = await new Validator().validate(structuredClone(document) as SpecData)
    expect(outcome.errors ?? []).toEqual([])
    expect(outcome.valid).toBe(true)
    expect(document.openapi).toMatch(/^3\.1\./)
  })

  test('contains every route of the table, and nothing else', () => {
    expect(described).toHaveLength(contract.filter(({ method }) => method !== '*').length)
    for (const row of described) expect(operationOf(row)?.summary, keyOf(row)).toMatch(/\S/)
    const count = Object.values(document.paths).reduce((sum, methods) => sum + Object.keys(methods).length, 0)
    expect(count).toBe(described.length)
  })

  test('has the access and the parameters of the table', () => {
    for (const row of described) {
      const operation = operationOf(row)
      const scopes =
        row.access === 'public' ? [] : [['authenticated', 'session'].includes(row.access) ? [] : [row.access]]
      expect(operation?.security.map(({ bearer }) => bearer).filter(Boolean), keyOf(row)).toEqual(scopes)
      const byKey = operation?.security.filter(({ apiKey }) => apiKey !== undefined)
      expect(byKey, keyOf(row)).toHaveLength(['public', 'session'].includes(row.access) ? 0 : 1)
      const inPath = operation?.parameters.filter(parameter => parameter.in === 'path').map(({ name }) => name)
      expect(inPath, keyOf(row)).toEqual([...row.path.matchAll(/[:*](\w+)/g)].map(([, name]) => name))
    }
  })

  test('matches status, type and body of every audited answer', () => {
    expect(exchanges.length).toBeGreaterThan(500)
    const wrong: string[] = []
    const complain = (exchange: Exchange, what: string): void => {
      wrong.push(`${exchange.method} ${exchange.path.slice(0, 80)} ${exchange.answer.status}: ${what}`)
    }
    for (const exchange of exchanges) {
      const row = rowOf(exchange)
      const { answer, method } = exchange
      if (exchange.path.startsWith('/ipfs/') || method === 'OPTIONS') continue
      if (typeof row === 'string' || !described.includes(row)) {
        if (answer.status < 400) continue
        for (const fault of method === 'HEAD'
          ? []
          : faults({ $ref: '#/components/schemas/Error' }, answer.json, false)) {
          complain(exchange, fault)
        }
        continue
      }
      const content = operationOf(row)?.responses[answer.status]?.content
      const type = answer.header('content-type')?.split(';', 1)[0] ?? ''
      const schema = content?.[type]?.schema
      if (schema === undefined) complain(exchange, `${type} is not described ${answer.body.toString().slice(0, 200)}`)
      else if (method !== 'HEAD' && type === 'application/json') {
        for (const fault of faults(schema, answer.json, answer.status < 400)) complain(exchange, fault)
      }
    }
    expect([...new Set(wrong)]).toEqual([])
  })

  test('matches every accepted JSON body', () => {
    const taken = exchanges.filter(({ answer, options }) => answer.status < 400 && (options.body?.length ?? 0) > 0)
    let checked = 0
    for (const exchange of taken) {
      const row = rowOf(exchange)
      if (typeof row === 'string') continue
      const schema = operationOf(row)?.requestBody?.content['application/json']?.schema
      if (schema === undefined) continue
      // `null` and `[]` count as no body.
      const sent = JSON.parse(String(exchange.options.body)) as Record<string, unknown> | null
      const body = sent === null || (Array.isArray(sent) && sent.length === 0) ? {} : sent
      const present = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
      expect(faults(schema, present, false), `${exchange.method} ${exchange.path}`).toEqual([])
      checked += 1
    }
    expect(checked).toBeGreaterThan(20)
  })

  test('the schema check detects undocumented and wrong fields', () => {
    const [error] = faults({ $ref: '#/components/schemas/Health' }, { status: 'ok', extra: 1 }, true)
    expect(error).toMatch(/extra|unevaluated/)
    expect(faults({ $ref: '#/components/schemas/Upload' }, { cid: 1 }, false)).not.toEqual([])
    expect(faults({ $ref: '#/components/schemas/Health' }, { status: 'ok' }, true)).toEqual([])
  })
})

describe('the audits', () => {
  test('cover every route of the table', () => {
    const seen = new Set(exchanges.map(rowOf))
    const router = rows.filter(row => !seen.has(row)).map(({ method, path }) => `${method} ${path}`)
    expect(router).toEqual([])
  })

  test('cover every documented success', () => {
    const seen = new Set(
      exchanges.flatMap(exchange => {
        const row = rowOf(exchange)
        return typeof row === 'string' ? [] : [`${row.method} ${row.path} ${exchange.answer.status}`]
      }),
    )
    const wanted = described.flatMap(row =>
      Object.keys(operationOf(row)?.responses ?? {})
        .filter(status => Number(status) < 400)
        .map(status => `${row.method} ${row.path} ${status}`),
    )
    expect(wanted.filter(success => !seen.has(success))).toEqual(Object.keys(ELSEWHERE))
  })
})

test('each audited action has a route', () => {
  const audited = new Set(groups.flatMap(({ routes }) => routes.flatMap(({ audit }) => audit ?? [])))
  expect(new Set(AUDIT_ACTIONS)).toEqual(audited)
})

describe('the page', () => {
  test('shows every route, runs nothing, and links to the document', async () => {
    const page = exchanges.find(({ path }) => path === `${BASE_PATH}/docs`)?.answer
    const html = page?.body.toString() ?? ''
    expect(page?.header('content-type')).toBe('text/html; charset=utf-8')
    expect(page?.header('content-security-policy')).toContain("default-src 'none'")
    for (const path of Object.keys(document.paths)) expect(html).toContain(`<code>${path}</code>`)
    expect(html).not.toMatch(/<script|<link|<img|https?:\/\/|\son\w+=|javascript:/i)
    expect(html).toContain('href="openapi.json"')
    expect(html).not.toContain('undefined')
    expect(html).not.toContain('[object')
  })
})
