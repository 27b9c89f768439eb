import type { Static, TSchema } from 'typebox'
import type { AuditAction } from '../access/audit-actions.ts'
import type { ErrorCode } from '../domain/errors.ts'
import type { ApiResponse } from '../http/api-messages.ts'
import { jsonResponse, MAX_JSON_BYTES, MAX_PUBLIC_JSON_BYTES } from '../http/json-body.ts'
import type { Access, AuthenticatedContext, GoesTo, RequestContext, Route } from '../http/route.ts'
import { type BodyReader, bodyReader } from './body-reader.ts'
import type { Answer } from './remembered-answers.ts'
import type { Services } from './services.ts'

export interface Body<Schema extends TSchema = TSchema> {
  readonly type: 'application/json' | 'multipart/form-data' | 'application/vnd.ipld.car'
  readonly schema: Schema
  readonly required: boolean
}

/** A response whose headers and body the handler builds, for example a page or a stream. */
export interface OtherAnswer {
  readonly media: string
  readonly schema: TSchema
}

/** Schemas by HTTP status. A schema with a `title` becomes a named component in the OpenAPI document. */
export type Answers = Readonly<Record<number, TSchema | OtherAnswer>>

export interface Parameter {
  readonly description: string
  readonly schema: TSchema
}

/** Documentation of a route, for the OpenAPI document and the manual. */
export interface RouteDocumentation {
  /** Heading of the section that documents the route. */
  readonly tag: string
  readonly summary: string
  /** True if the route offers the operation of another route at a second path. Short tables omit such routes. */
  readonly isAlias?: true
  readonly details?: string
  /** Descriptions of the path parameters, by name. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly headers?: Readonly<Record<string, Parameter>>
  /** True if upload tokens may call the route. */
  readonly takesUploadTokens?: true
  /** Which node of a fleet must handle the request. Default: any node. */
  readonly goesTo?: GoesTo
  /**
   * Set if responses may be cached, because they depend only on the account, the request and the stored records.
   */
  readonly isRemembered?: true
  /** The audited action. Routes for content and routes that only read have none. */
  readonly audit?: AuditAction
  /** Errors of the route itself. Errors of authentication, parameters and bodies are added automatically. */
  readonly errors?: readonly ErrorCode[]
}

/** A route. Its handler uses the services of the contract, and a feature's routes also those of the feature. */
export interface ContractRoute<Used = Services> extends RouteDocumentation {
  readonly method: string
  /** Path below the base of the route group. */
  readonly path: string
  readonly access: Access
  readonly bodies: readonly Body[]
  readonly answers: Answers
  readonly handler: (context: RequestContext, services: Used) => Promise<ApiResponse>
}

export interface RouteGroup {
  /** Path before the path of each route. Empty for routes at the root of the origin. */
  readonly base: string
  readonly routes: readonly ContractRoute[]
}

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
export type Shown<Schema extends TSchema> = DeepReadonly<Static<Schema>>

type Reply<A extends Answers> = {
  [Status in keyof A]: A[Status] extends OtherAnswer
    ? ApiResponse
    : {
        readonly status: Status
        readonly body: A[Status] extends TSchema ? Shown<A[Status]> : never
        /** True if the response may change without a change of the catalogue. */
        readonly isLive?: boolean
      }
}[keyof A]

type Context<Reach extends Access, Schema extends TSchema> = (Reach extends 'public'
  ? RequestContext
  : AuthenticatedContext) & {
  /** Returns the validated JSON body. Throws `VALIDATION`, with the name of the field. */
  body(): Promise<Static<Schema>>
}

export interface RouteDefinition<Reach extends Access, Schema extends TSchema, A extends Answers, Used>
  extends RouteDocumentation {
  /** `*` means all methods. The OpenAPI document omits such routes. A GET route also handles HEAD. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | '*'
  /**
   * `:name` matches one segment. `*name` matches the rest of the path, even if the rest contains slashes or is empty.
   */
  readonly path: string
  readonly access: Reach
  /** JSON body from {@link json} or {@link optionalJson}, which the handler reads with `context.body()`. */
  readonly body?: Body<Schema>
  /** Bodies that the handler reads from the request itself. */
  readonly forms?: readonly Body[]
  readonly answers: A
  /** Returns a typed reply, or the response of another node that handled the request. */
  readonly handler: (context: Context<Reach, Schema>, services: Used) => Promise<Reply<A> | ApiResponse> | Reply<A>
}

/**
 * Declares a JSON body. A missing body counts as an empty object, and a null field counts as missing. Unknown fields
 * are ignored.
 */
export function json<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { type: 'application/json', schema, required: true }
}

/** Declares a JSON body that the documentation describes as optional. */
export function optionalJson<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { ...json(schema), required: false }
}

/** Defines a route of the contract. TypeScript infers the handler's input and result from the schemas. */
export function route<Reach extends Access, Schema extends TSchema, const A extends Answers>(
  definition: RouteDefinition<Reach, Schema, A, Services>,
): ContractRoute {
  return defined(definition)
}

/** Returns the function that defines routes of a feature, whose handlers also use its own services. */
export function routesWith<Own extends object>() {
  return <Reach extends Access, Schema extends TSchema, const A extends Answers>(
    definition: RouteDefinition<Reach, Schema, A, Services & Own>,
  ): ContractRoute<Services & Own> => defined(definition)
}

function defined<Reach extends Access, Schema extends TSchema, A extends Answers, Used extends Services>(
  definition: RouteDefinition<Reach, Schema, A, Used>,
): ContractRoute<Used> {
  const { body, forms = [], handler, ...rest } = definition
  const maxBytes = rest.access === 'public' ? MAX_PUBLIC_JSON_BYTES : MAX_JSON_BYTES
  const read: BodyReader<unknown> = body === undefined ? refuse : bodyReader(body.schema, maxBytes)
  return {
    ...rest,
    bodies: body === undefined ? forms : [body, ...forms],
    handler: async (context, services) => {
      const { rememberedAnswers } = services
      const find = (): Promise<Answer> => answerTo(context, services)
      // Every route with cached responses requires authentication, so the pipeline has set the principal.
      const { principal } = context as AuthenticatedContext
      const { response, cid } = rest.isRemembered
        ? await rememberedAnswers.answer(principal.account.id, questionOf(rest, context as AuthenticatedContext), find)
        : await find()
      if (cid !== null) context.concerns(cid)
      return response
    },
  }

  async function answerTo(context: RequestContext, services: Used): Promise<Answer> {
    const given = { ...context, body: () => read(context.request) } as unknown as Context<Reach, Schema>
    const reply: ApiResponse | { status: unknown; body: unknown; isLive?: boolean } = await handler(given, services)
    if ('headers' in reply) return { response: reply, cid: null, isLive: true }
    const answer = reply.body as object
    const subject = rest.audit === undefined ? undefined : subjectOf(answer)
    if (subject !== undefined) context.audits({ subject })
    const cid = 'cid' in answer && typeof answer.cid === 'string' ? answer.cid : null
    return { response: jsonResponse(Number(reply.status), answer), cid, isLive: reply.isLive === true }
  }
}

/** Returns everything in a request that its cached response may depend on. */
function questionOf(
  { path, params = {} }: Pick<RouteDocumentation, 'params'> & { path: string },
  { principal, request, param }: AuthenticatedContext,
): string {
  const given = Object.keys(params).map(name => param(name))
  return [path, principal.account.id, request.query, request.header('x-cluster') ?? '', ...given].join('\n')
}

/** Returns the id, CID or name in an answer. None of them is a secret. */
function subjectOf(answer: object): string | undefined {
  const { id, cid, name, job } = answer as Record<string, unknown>
  const found = [id, cid, name].find(value => typeof value === 'string') as string | undefined
  return found ?? (typeof job === 'object' && job !== null ? subjectOf(job) : undefined)
}

function refuse(): never {
  throw new Error('this route declares no JSON body')
}

/** Binds the handlers of the routes to the services of an engine. */
export function bindRoutes(groups: readonly RouteGroup[], services: Services): Route[] {
  return groups.flatMap(({ base, routes }) =>
    routes.map(({ method, path, access, takesUploadTokens = false, goesTo, audit, handler }): Route => {
      const row = {
        method,
        path: `${base}${path}`,
        takesUploadTokens,
        goesTo,
        audit,
        handler: (context: RequestContext) => handler(context, services),
      }
      return access === 'public' ? { ...row, access } : { ...row, access }
    }),
  )
}
