import { type TSchema, Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import { ERROR_STATUS, REASON_PHRASES } from '../../http/error-response.ts'
import type { Access, Route } from '../../http/route.ts'
import { accountOperations } from './account-operations.ts'
import { ANSWERS, type AnswerName, ERROR } from './answers.ts'
import { authOperations } from './auth-operations.ts'
import { fileOperations } from './file-operations.ts'
import { nodeOperations } from './node-operations.ts'
import type { Body, Operation, Operations, Parameter } from './operation.ts'

/** Everything that the description says of routes, by method and path below the base. */
export const operations: Operations = { ...fileOperations, ...accountOperations, ...authOperations, ...nodeOperations }

/** A row of the route table, its path below the base. */
export type Row = Pick<Route, 'method' | 'path' | 'access'>

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly [field: string]: unknown
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly [field: string]: unknown
}

export interface OpenApiOperation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>
}

export interface OpenApiParameter extends Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
}

/** By media type. */
export type Content = Readonly<Record<string, { readonly schema: TSchema }>>

const DESCRIPTION = `Content-addressed storage that keeps what it is given pinned in named clusters.

Send an API key or a session as \`Authorization: Bearer …\`, or an API key as \`X-API-Key\`. A trailing slash makes no \
difference, HEAD works wherever GET does, and in JSON bodies null counts as absent and unknown fields are ignored. Every \
error has the same shape, whose \`code\` is stable. Content is served at \`/ipfs/{cid}\` beside this API.`

/** The contract as an OpenAPI 3.1 document: the rows of the route table with what {@link operations} says of them. */
export function openApiDocument(rows: readonly Row[], version: string): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const row of rows) {
    const operation = operations[`${row.method} ${row.path}`]
    if (operation === undefined) continue
    const path = documentPath(row.path)
    paths[path] = { ...paths[path], [row.method.toLowerCase()]: describe(row, operation) }
  }
  return {
    openapi: '3.1.1',
    info: { title: 'Holdfast', version, description: DESCRIPTION, license: { name: 'MIT', identifier: 'MIT' } },
    // Seen from where the document is served, so that it holds wherever an engine is mounted.
    servers: [{ url: '../v3' }],
    paths,
    components: {
      schemas: { ...ANSWERS, Error: ERROR },
      headers: RATE_HEADERS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key or a session token.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  }
}

/** `/files/pin/*cid` → `/files/pin/{cid}`; the base itself is `/`. */
export function documentPath(path: string): string {
  return path === '' ? '/' : path.replace(/[:*](\w+)/g, '{$1}')
}

function describe({ path, access }: Row, operation: Operation): OpenApiOperation {
  const { tag, summary, details, body, bodyRequired = true } = operation
  const names = [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => name)
  return {
    tags: [tag],
    summary,
    ...(details === undefined ? {} : { description: details }),
    security: securityOf(access),
    parameters: [
      ...names.map(name => {
        const description = operation.path?.[name] ?? name
        return { name, in: 'path' as const, required: true, description, schema: Type.String() }
      }),
      ...parameters('query', operation.query),
      ...parameters('header', operation.headers),
    ],
    ...(body === undefined ? {} : { requestBody: { required: bodyRequired, content: contentOf([body].flat()) } }),
    responses: { ...answersOf(operation, access), ...errorsOf(operation, access) },
  }
}

function contentOf(bodies: readonly Body[]): Content {
  return Object.fromEntries(bodies.map(({ type, schema }) => [type, { schema }]))
}

function parameters(place: 'query' | 'header', given: Readonly<Record<string, Parameter>> = {}): OpenApiParameter[] {
  return Object.entries(given).map(([name, parameter]) => ({ name, in: place, ...parameter }))
}

function securityOf(access: Access): OpenApiOperation['security'] {
  if (access === 'public') return []
  if (access === 'session') return [{ bearer: [] }]
  const scopes = access === 'authenticated' ? [] : [access]
  return [{ bearer: scopes }, { apiKey: scopes }]
}

function answersOf({ answers }: Operation, access: Access): OpenApiOperation['responses'] {
  const headers = access === 'public' ? {} : { headers: refs(RATE_HEADERS) }
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => {
      const { type, schema } = typeof answer === 'string' ? jsonOf(answer) : answer
      return [status, { description: STATUS_WORDS[status] ?? 'OK', ...headers, content: { [type]: { schema } } }]
    }),
  )
}

function jsonOf(name: AnswerName): { type: string; schema: TSchema } {
  return { type: 'application/json', schema: Type.Ref(`#/components/schemas/${name}`) }
}

/** One answer for each status, naming the codes that it may carry. */
function errorsOf({ errors = [] }: Operation, access: Access): OpenApiOperation['responses'] {
  const codes = new Map<number, ErrorCode[]>()
  for (const code of new Set<ErrorCode>([...errorsOfAccess(access), ...errors])) {
    const status = ERROR_STATUS[code]
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...codes].map(([status, names]) => {
      const code = Type.Object({ code: Type.Enum(names) })
      const schema = Type.Intersect([Type.Ref('#/components/schemas/Error'), code])
      const headers = status === 429 ? { headers: { ...refs(RATE_HEADERS), 'Retry-After': RETRY_AFTER } } : {}
      return [
        status,
        { description: REASON_PHRASES[status] ?? 'Error', ...headers, content: { 'application/json': { schema } } },
      ]
    }),
  )
}

function errorsOfAccess(access: Access): ErrorCode[] {
  const any: ErrorCode[] = ['INTERNAL_ERROR', 'UNAVAILABLE']
  if (access === 'public') return any
  const credential: ErrorCode[] = ['INVALID_API_KEY', 'account_disabled', 'IP_NOT_ALLOWED', 'RATE_LIMIT', ...any]
  if (access === 'authenticated') return credential
  return [access === 'session' ? 'SESSION_REQUIRED' : 'missing_scope', ...credential]
}

const STATUS_WORDS: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created' }

const RETRY_AFTER = { description: 'Whole seconds to wait.', schema: Type.Integer({ minimum: 1 }) }

const RATE_HEADERS = {
  'X-RateLimit-Limit': { description: 'Requests in a window.', schema: Type.Integer({ minimum: 0 }) },
  'X-RateLimit-Remaining': { description: 'Requests left in this window.', schema: Type.Integer({ minimum: 0 }) },
  'X-RateLimit-Reset': { description: 'When the window ends, in Unix seconds.', schema: Type.Integer({ minimum: 0 }) },
}

function refs(headers: object): Record<string, { $ref: string }> {
  return Object.fromEntries(Object.keys(headers).map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
