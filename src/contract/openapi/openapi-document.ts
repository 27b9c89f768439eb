import { type TSchema, Type } from 'typebox'
import type { ErrorCode } from '../../domain/errors.ts'
import { PUBLIC_NOTICE } from '../../domain/public-notice.ts'
import { ERROR_TABLE } from '../../http/error-codes.ts'
import { REASON_PHRASES } from '../../http/error-response.ts'
import type { Access } from '../../http/route.ts'
import type { Body, ContractRoute, OtherAnswer, Parameter } from '../contract-route.ts'
import { ERROR } from './error.ts'

export interface OpenApiDocument {
  readonly openapi: string
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly [field: string]: unknown
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, TSchema>>; readonly [field: string]: unknown }
  readonly [field: string]: unknown
}

export interface OpenApiOperation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly OpenApiParameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: MediaTypes }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: MediaTypes }>>
}

export interface OpenApiParameter extends Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
}

/** Schemas of a body by media type. */
export type MediaTypes = Readonly<Record<string, { readonly schema: TSchema }>>

const DESCRIPTION = [
  `Content-addressed storage that pins content in named clusters.

**${PUBLIC_NOTICE}**

Send an API key or a session as \`Authorization: Bearer …\`, or an API key as \`X-API-Key\`. A trailing slash has no \
effect, and HEAD works like GET. In JSON bodies, null counts as missing and unknown fields are ignored. Every error has \
the same shape with a stable \`code\`. The node also serves content at \`/ipfs/{cid}\``,
  ', and the IPFS Pinning Service API at `/psa`, described at `/psa/openapi.json`', // feature: psa
  '.',
].join('')

export interface DescribedApi {
  readonly title: string
  readonly description: string
  /** Base URL of the API, relative to the document because the engine may be mounted below a path prefix. */
  readonly server: string
  /** Body of every response with status 400 or higher. */
  readonly error: TSchema
  /** Restricts the error code of an error body to the given codes. */
  readonly errorWith: (codes: readonly ErrorCode[]) => TSchema
}

const CONTRACT: DescribedApi = {
  title: 'Holdfast',
  description: DESCRIPTION,
  server: '../v3',
  error: ERROR,
  errorWith: codes => Type.Object({ code: Type.Enum([...codes]) }),
}

/** Builds an OpenAPI 3.1 document. Omits routes that handle all methods. */
export function openApiDocument(
  routes: readonly ContractRoute[],
  version: string,
  api: DescribedApi = CONTRACT,
): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  const schemas: Record<string, TSchema> = {}
  for (const route of routes) {
    if (route.method === '*') continue
    const path = documentPath(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describe(route, api) }
    for (const answer of Object.values(route.answers)) {
      const title = titleOf(answer)
      if (title !== undefined) schemas[title] = answer
    }
  }
  return {
    openapi: '3.1.1',
    info: { title: api.title, version, description: api.description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: api.server }],
    paths,
    components: {
      schemas: { ...schemas, Error: api.error },
      headers: RATE_HEADERS,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key or a session token.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
  }
}

/** Converts a route path to its form in the document: `/files/pin/*cid` becomes `/files/pin/{cid}`. */
export function documentPath(path: string): string {
  return path === '' ? '/' : path.replace(/[:*](\w+)/g, '{$1}')
}

function describe(route: ContractRoute, api: DescribedApi): OpenApiOperation {
  const { tag, summary, bodies } = route
  const takesContent = route.method === 'POST' && route.access === 'files:write'
  const details = [route.details, takesContent ? `**${PUBLIC_NOTICE}**` : undefined].filter(text => text !== undefined)
  return {
    tags: [tag],
    summary,
    ...(details.length === 0 ? {} : { description: details.join('\n\n') }),
    security: securityOf(route.access),
    parameters: [
      ...parametersOf(route.path).map(name => {
        const description = route.params?.[name] ?? name
        return { name, in: 'path' as const, required: true, description, schema: Type.String() }
      }),
      ...parameters('query', route.query),
      ...parameters('header', route.headers),
    ],
    ...(bodies.length === 0
      ? {}
      : { requestBody: { required: bodies.every(({ required }) => required), content: contentOf(bodies) } }),
    responses: { ...answersOf(route), ...errorsOf(route, api) },
  }
}

export function parametersOf(path: string): string[] {
  return [...path.matchAll(/[:*](\w+)/g)].map(([, name = '']) => name)
}

function contentOf(bodies: readonly Body[]): MediaTypes {
  return Object.fromEntries(bodies.map(({ type, schema }) => [type, { schema }]))
}

function parameters(place: 'query' | 'header', given: Readonly<Record<string, Parameter>> = {}): OpenApiParameter[] {
  return Object.entries(given).map(([name, parameter]) => ({ name, in: place, ...parameter }))
}

function securityOf(access: Access): OpenApiOperation['security'] {
  if (access === 'public') return []
  if (access === 'session') return [{ bearer: [] }]
  const scopes = access === 'authenticated' || access === 'owner' ? [] : [access]
  return [{ bearer: scopes }, { apiKey: scopes }]
}

function answersOf({ answers, access }: ContractRoute): OpenApiOperation['responses'] {
  const headers = access === 'public' ? {} : { headers: refs(RATE_HEADERS) }
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => {
      const [media, schema] = contentOfAnswer(answer)
      return [status, { description: STATUS_WORDS[status] ?? 'OK', ...headers, content: { [media]: { schema } } }]
    }),
  )
}

function contentOfAnswer(answer: TSchema | OtherAnswer): [media: string, schema: TSchema] {
  if ('media' in answer) return [answer.media, answer.schema]
  const title = titleOf(answer)
  return ['application/json', title === undefined ? answer : Type.Ref(`#/components/schemas/${title}`)]
}

/** Returns the component name of a response schema, or undefined if the schema is not a named component. */
function titleOf(answer: TSchema | OtherAnswer): string | undefined {
  return 'title' in answer ? String(answer.title) : undefined
}

function errorsOf(route: ContractRoute, { errorWith }: DescribedApi): OpenApiOperation['responses'] {
  const codes = new Map<number, ErrorCode[]>()
  for (const code of errorCodesOf(route)) {
    const status = ERROR_TABLE[code].status
    codes.set(status, [...(codes.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...codes].map(([status, names]) => {
      const schema = Type.Intersect([Type.Ref('#/components/schemas/Error'), errorWith(names)])
      const headers = status === 429 ? { headers: { ...refs(RATE_HEADERS), 'Retry-After': RETRY_AFTER } } : {}
      return [
        status,
        { description: REASON_PHRASES[status] ?? 'Error', ...headers, content: { 'application/json': { schema } } },
      ]
    }),
  )
}

/** Returns the declared error codes of a route, and those that follow from its access, parameters and bodies. */
function errorCodesOf({ access, path, bodies, errors = [] }: ContractRoute): ReadonlySet<ErrorCode> {
  const codes = new Set<ErrorCode>([...errorsOfAccess(access), ...errors])
  if (path.includes(':') || path.includes('*') || bodies.length > 0) codes.add('VALIDATION')
  if (bodies.length > 0) codes.add('UNSUPPORTED_MEDIA_TYPE')
  if (bodies.some(({ type }) => type === 'application/json')) codes.add('REQUEST_TOO_LARGE')
  return codes
}

const REFUSALS: Readonly<Partial<Record<Access, ErrorCode>>> = { session: 'SESSION_REQUIRED', owner: 'OWNER_REQUIRED' }

function errorsOfAccess(access: Access): ErrorCode[] {
  const any: ErrorCode[] = ['INTERNAL_ERROR', 'UNAVAILABLE']
  if (access === 'public') return any
  const credential: ErrorCode[] = ['INVALID_API_KEY', 'account_disabled', 'IP_NOT_ALLOWED', 'RATE_LIMIT', ...any]
  // An upload token gets `missing_scope` on routes that do not accept upload tokens.
  return access === 'authenticated'
    ? ['missing_scope', ...credential]
    : [REFUSALS[access] ?? 'missing_scope', ...credential]
}

const STATUS_WORDS: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' }

const RETRY_AFTER = { description: 'Whole seconds to wait.', schema: Type.Integer({ minimum: 1 }) }

const RATE_HEADERS = {
  'X-RateLimit-Limit': { description: 'Requests in a window.', schema: Type.Integer({ minimum: 0 }) },
  'X-RateLimit-Remaining': { description: 'Requests left in this window.', schema: Type.Integer({ minimum: 0 }) },
  'X-RateLimit-Reset': { description: 'When the window ends, in Unix seconds.', schema: Type.Integer({ minimum: 0 }) },
}

function refs(headers: object): Record<string, { $ref: string }> {
  return Object.fromEntries(Object.keys(headers).map(name => [name, { $ref: `#/components/headers/${name}` }]))
}
