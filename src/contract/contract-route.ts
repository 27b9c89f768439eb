import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../domain/errors.ts'
import type { ApiResponse } from '../http/api-messages.ts'
import { MAX_JSON_BYTES, MAX_PUBLIC_JSON_BYTES } from '../http/json-body.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { Access, AuthenticatedContext, GoesTo, RequestContext, Route } from '../http/route.ts'
import { type BodyReader, bodyReader } from './body-reader.ts'
import type { Services } from './services.ts'

/** A request body with one media type. */
export interface Body<Schema extends TSchema = TSchema> {
  readonly type: 'application/json' | 'multipart/form-data' | 'application/vnd.ipld.car'
  readonly schema: Schema
  /** False if the body is optional. */
  readonly required: boolean
}

/** An answer that is not contract JSON. Its handler builds the whole response. */
export interface OtherAnswer {
  readonly media: string
  readonly schema: TSchema
}

/** Answers by status. The description lists a schema with a `title` once, under that name. */
export type Answers = Readonly<Record<number, TSchema | OtherAnswer>>

/** A query or header parameter. */
export interface Parameter {
  readonly description: string
  readonly schema: TSchema
}

/** Documentation of a route, for the OpenAPI description and the tables in the documents. */
export interface RouteDocumentation {
  /** Heading of its section. */
  readonly tag: string
  readonly summary: string
  /** True for a second path of another route. Short tables omit it. */
  readonly isAlias?: true
  readonly details?: string
  /** Descriptions of the path parameters, by name. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly headers?: Readonly<Record<string, Parameter>>
  /** True if upload tokens may call it. Default: false. */
  readonly takesUploadTokens?: true
  /** The responsible node. Default: any. */
  readonly goesTo?: GoesTo
  /** True if the answer depends only on the query and stored data, so it may be cached. Default false. */
  readonly isRemembered?: true
  /** Error codes beyond those of its access, parameters and body. */
  readonly errors?: readonly ErrorCode[]
}

/** A complete route. Its handler receives the services with each call. */
export interface ContractRoute extends RouteDocumentation {
  readonly method: string
  /** Path below the group's base. */
  readonly path: string
  readonly access: Access
  readonly bodies: readonly Body[]
  readonly answers: Answers
  readonly handler: (context: RequestContext, services: Services) => Promise<ApiResponse>
}

/** Routes below one path. */
export interface RouteGroup {
  /** Empty for the origin's root. */
  readonly base: string
  readonly routes: readonly ContractRoute[]
}

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
/** A value of a schema, as handlers return it. */
export type Shown<Schema extends TSchema> = DeepReadonly<Static<Schema>>

type Reply<A extends Answers> = {
  [Status in keyof A]: A[Status] extends OtherAnswer
    ? ApiResponse
    : { readonly status: Status; readonly body: A[Status] extends TSchema ? Shown<A[Status]> : never }
}[keyof A]

type Context<Reach extends Access, Schema extends TSchema> = (Reach extends 'public'
  ? RequestContext
  : AuthenticatedContext) & {
  /** Returns the validated JSON body. Throws `VALIDATION` naming the invalid field. */
  body(): Promise<Static<Schema>>
}

interface RouteDefinition<Reach extends Access, Schema extends TSchema, A extends Answers> extends RouteDocumentation {
  /** Upper case, or `*` for all, which the description omits. A GET route also answers HEAD. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | '*'
  /** `:name` matches one segment. `*name`, at the end, matches the rest, including slashes and an empty rest. */
  readonly path: string
  readonly access: Reach
  /** The result of {@link json}. `context.body()` reads it. */
  readonly body?: Body<Schema>
  /** Bodies that the handler reads itself. */
  readonly forms?: readonly Body[]
  readonly answers: A
  /** Returns a typed reply, or another node's answer as an `ApiResponse`. */
  readonly handler: (context: Context<Reach, Schema>, services: Services) => Promise<Reply<A> | ApiResponse> | Reply<A>
}

/** Declares a JSON body. A missing body is an empty object, null is a missing field, and unknown fields are ignored. */
export function json<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { type: 'application/json', schema, required: true }
}

/** Declares an optional JSON body; see {@link json}. */
export function optionalJson<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { ...json(schema), required: false }
}

/** Defines a route: path, access, bodies, answers, documentation and handler. Its types follow from its schemas. */
export function route<Reach extends Access, Schema extends TSchema, const A extends Answers>(
  definition: RouteDefinition<Reach, Schema, A>,
): ContractRoute {
  const { body, forms = [], handler, ...rest } = definition
  const maxBytes = rest.access === 'public' ? MAX_PUBLIC_JSON_BYTES : MAX_JSON_BYTES
  const read: BodyReader<unknown> = body === undefined ? refuse : bodyReader(body.schema, maxBytes)
  return {
    ...rest,
    bodies: body === undefined ? forms : [body, ...forms],
    handler: (context, services) => {
      const answer = (): Promise<ApiResponse> => answerTo(context, services)
      if (rest.isRemembered !== true) return answer()
      // The pipeline passes a principal to every guarded route, but the type of the context does not show it.
      const { principal, request } = context as AuthenticatedContext
      return services.rememberedAnswers.answer(`${rest.path} ${principal.account.id} ${request.query}`, answer)
    },
  }

  async function answerTo(context: RequestContext, services: Services): Promise<ApiResponse> {
    const given = { ...context, body: () => read(context.request) } as unknown as Context<Reach, Schema>
    const reply: ApiResponse | { status: unknown; body: unknown } = await handler(given, services)
    if ('headers' in reply) return reply
    const answer = reply.body as object
    if ('cid' in answer && typeof answer.cid === 'string') context.concerns(answer.cid)
    return jsonResponse(Number(reply.status), answer)
  }
}

function refuse(): never {
  throw new Error('this route declares no JSON body')
}

/** Binds the routes' handlers to the services of an engine, for the router. */
export function bindRoutes(groups: readonly RouteGroup[], services: Services): Route[] {
  return groups.flatMap(({ base, routes }) =>
    routes.map(({ method, path, access, takesUploadTokens = false, goesTo, handler }): Route => {
      const row = {
        method,
        path: `${base}${path}`,
        takesUploadTokens,
        goesTo,
        handler: (context: RequestContext) => handler(context, services),
      }
      return access === 'public' ? { ...row, access } : { ...row, access }
    }),
  )
}
