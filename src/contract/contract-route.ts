import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../domain/errors.ts'
import type { ApiResponse } from '../http/api-messages.ts'
import { MAX_JSON_BYTES, MAX_PUBLIC_JSON_BYTES } from '../http/json-body.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { Access, AuthenticatedContext, GoesTo, RequestContext, Route } from '../http/route.ts'
import { type BodyReader, bodyReader } from './body-reader.ts'
import type { Services } from './services.ts'

/** A request body of one media type. */
export interface Body<Schema extends TSchema = TSchema> {
  readonly type: 'application/json' | 'multipart/form-data' | 'application/vnd.ipld.car'
  readonly schema: Schema
  /** False: the body may be left out. */
  readonly required: boolean
}

/** An answer that is no JSON of ours: its handler makes the whole response. */
export interface OtherAnswer {
  readonly media: string
  readonly schema: TSchema
}

/** By status. A schema with a `title` is described under that name. */
export type Answers = Readonly<Record<number, TSchema | OtherAnswer>>

/** A parameter outside path and body. */
export interface Parameter {
  readonly description: string
  readonly schema: TSchema
}

/** What is said of a route: its place in the description of the contract and in the tables of the documents. */
export interface RouteDocumentation {
  /** The heading that it stands under. */
  readonly tag: string
  readonly summary: string
  /** Another path of a route that stands elsewhere; short tables leave it out. */
  readonly isAlias?: true
  readonly details?: string
  /** What the parameters of the path mean, by name. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly headers?: Readonly<Record<string, Parameter>>
  /** Whether upload tokens may call it. Default: they may not. */
  readonly takesUploadTokens?: true
  /** Which of several nodes answers. Default: any. */
  readonly goesTo?: GoesTo
  /** Whether the answer follows from the query and from what is stored alone, and may be given again. Default false. */
  readonly isRemembered?: true
  /** Beyond those that its access, its parameters and its body bring along. */
  readonly errors?: readonly ErrorCode[]
}

/** A route with all that belongs to it. Its handler knows no instance of anything: the services come with the call. */
export interface ContractRoute extends RouteDocumentation {
  readonly method: string
  /** Below the base of its group. */
  readonly path: string
  readonly access: Access
  readonly bodies: readonly Body[]
  readonly answers: Answers
  readonly handler: (context: RequestContext, services: Services) => Promise<ApiResponse>
}

/** Routes below one path. */
export interface RouteGroup {
  /** Empty for the origin itself. */
  readonly base: string
  readonly routes: readonly ContractRoute[]
}

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T
/** A value that a schema describes, as handlers and presenters give it. */
export type Shown<Schema extends TSchema> = DeepReadonly<Static<Schema>>

type Reply<A extends Answers> = {
  [Status in keyof A]: A[Status] extends OtherAnswer
    ? ApiResponse
    : { readonly status: Status; readonly body: A[Status] extends TSchema ? Shown<A[Status]> : never }
}[keyof A]

type Context<Reach extends Access, Schema extends TSchema> = (Reach extends 'public'
  ? RequestContext
  : AuthenticatedContext) & {
  /** The JSON body, checked; `VALIDATION` names the field that is wrong. */
  body(): Promise<Static<Schema>>
}

interface RouteDefinition<Reach extends Access, Schema extends TSchema, A extends Answers> extends RouteDocumentation {
  /** Upper case, or `*` for all, which is not described. A route for GET answers HEAD too. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | '*'
  /** `:name` takes one segment; `*name`, last, takes all that follow, slashes and nothing included. */
  readonly path: string
  readonly access: Reach
  /** Made by {@link json}, for `context.body()`. */
  readonly body?: Body<Schema>
  /** Bodies that the handler reads by itself. */
  readonly forms?: readonly Body[]
  readonly answers: A
  /** What is an `ApiResponse` is another node's answer. */
  readonly handler: (context: Context<Reach, Schema>, services: Services) => Promise<Reply<A> | ApiResponse> | Reply<A>
}

/** A JSON body. No body is an empty object, null a missing field, unknown fields pass. */
export function json<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { type: 'application/json', schema, required: true }
}

/** As {@link json}, where the body may be left out. */
export function optionalJson<Schema extends TSchema>(schema: Schema): Body<Schema> {
  return { ...json(schema), required: false }
}

/** A route in one place: path, access, bodies, answers, documentation and handler, each type from its schema. */
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
      // The pipeline calls a guarded route with the principal; only the compiler does not see it from here.
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

/** The rows of the router's table, their handlers bound to what this engine is made of. */
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
