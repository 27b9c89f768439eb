import { Type } from 'typebox'
import { cid, count, instant, text } from '../../contract/answer-fields.ts'
import { identifier, optional, optionalMeta } from '../../contract/body-reader.ts'
import { type ContractRoute, json, route } from '../../contract/contract-route.ts'
import { state } from '../../contract/record-fields.ts'
import { present } from '../../contract/request-target.ts'
import type { Services } from '../../contract/services.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import type { AuthenticatedContext } from '../../http/route.ts'
import { NAME_MATCHES } from '../../pins/lists/list-search.ts'
import { psaPageOf, psaQuery } from './list.ts'
import { PsaPinStatus, presentPinStatus } from './psa-status.ts'

/** Base path of the IPFS Pinning Service API. Clients append `/pins`. */
export const PSA_PATH = '/psa'

const MOST_ORIGINS = 20
const LONGEST_ORIGIN = 1_024

const Pin = Type.Object({
  cid: identifier,
  name: optional,
  origins: Type.Optional(Type.Array(Type.String({ maxLength: LONGEST_ORIGIN }), { maxItems: MOST_ORIGINS })),
  meta: optionalMeta,
})

const Results = Type.Object({ count, results: Type.Array(PsaPinStatus) }, { title: 'PinResults' })

const shared = { tag: 'Pinning service API', errors: ['NOT_IMPLEMENTED', 'VALIDATION'] } as const
const REQUEST_ID = { params: { requestid: 'The `requestid` of the pin, which is the `uploadId` of its record.' } }
const removed = { media: 'application/json', schema: Type.Null() }

const list = route({
  ...shared,
  method: 'GET',
  path: '/pins',
  access: 'files:read',
  summary: 'List pins',
  details: 'Newest first. Only `pinned` ones, unless `status`, `cid`, `name` or `meta` is set.',
  query: {
    cid: { description: 'Up to 10, separated by commas.', schema: cid },
    name: { description: 'Compared according to `match`.', schema: text },
    match: { description: '`exact` by default.', schema: Type.Enum([...NAME_MATCHES]) },
    status: {
      description: 'One or more, separated by commas. Default: `pinned`, or any with `cid`, `name` or `meta`.',
      schema: state,
    },
    before: { description: 'Only pins created before it.', schema: instant },
    after: { description: 'Only pins created after it.', schema: instant },
    limit: { description: "10 by default. At most 1,000 and the plan's limit.", schema: count },
    meta: { description: 'A JSON object of texts that pins have.', schema: text },
  },
  answers: { 200: Results },
  handler: async (context, services) => {
    const delegates = delegatesOf(services)
    const { count: total, items } = await psaPageOf(
      services.pins,
      context.principal.account.id,
      psaQuery(context.query),
    )
    return { status: 200, body: { count: total, results: items.map(item => presentPinStatus(item, delegates)) } }
  },
})

const add = route({
  ...shared,
  method: 'POST',
  goesTo: 'default cluster',
  path: '/pins',
  access: 'files:write',
  summary: 'Pin content',
  details: 'Each request creates a new pin, `queued` at once. `GET /pins/{requestid}` shows its status.',
  body: json(Pin),
  answers: { 202: PsaPinStatus },
  errors: ['NOT_IMPLEMENTED', 'VALIDATION', 'INVALID_CID', 'QUOTA_EXCEEDED', 'CLUSTER_NOT_ALLOWED'],
  handler: async (context, services) => {
    const delegates = delegatesOf(services)
    const record = await createPin(context, services, await context.body())
    return { status: 202, body: presentPinStatus(record, delegates) }
  },
})

const get = route({
  ...shared,
  ...REQUEST_ID,
  method: 'GET',
  path: '/pins/:requestid',
  access: 'files:read',
  summary: 'Show a pin',
  answers: { 200: PsaPinStatus },
  errors: ['NOT_IMPLEMENTED', 'NOT_FOUND'],
  handler: async (context, services) => {
    const delegates = delegatesOf(services)
    const account = context.principal.account.id
    const record = await services.pins.get({ account, uploadId: context.param('requestid') })
    const progress = await services.pins.status({ account, cid: record.cid })
    const own = progress.find(one => one.record.uploadId === record.uploadId)
    return { status: 200, body: presentPinStatus(record, delegates, own) }
  },
})

const replace = route({
  ...shared,
  ...REQUEST_ID,
  method: 'POST',
  goesTo: 'default cluster',
  path: '/pins/:requestid',
  access: 'files:write',
  summary: 'Replace a pin',
  details: 'Also needs `files:delete`. The new pin exists before the old one is removed.',
  body: json(Pin),
  answers: { 202: PsaPinStatus },
  errors: ['NOT_IMPLEMENTED', 'VALIDATION', 'INVALID_CID', 'NOT_FOUND', 'QUOTA_EXCEEDED', 'CLUSTER_NOT_ALLOWED'],
  handler: async (context, services) => {
    const delegates = delegatesOf(services)
    services.scopes.check(context.principal, 'files:delete')
    const body = await context.body()
    const account = context.principal.account.id
    const old = { account, uploadId: context.param('requestid') }
    await services.pins.get(old)
    const record = await createPin(context, services, body)
    try {
      await services.pins.discard(old)
    } catch (error) {
      // Another request has replaced or removed the old pin meanwhile, so this one fails and must leave no pin.
      if (isHoldfastError(error, 'NOT_FOUND')) await services.pins.discard({ account, uploadId: record.uploadId })
      throw error
    }
    return { status: 202, body: presentPinStatus(record, delegates) }
  },
})

const remove = route({
  ...shared,
  ...REQUEST_ID,
  method: 'DELETE',
  path: '/pins/:requestid',
  access: 'files:delete',
  summary: 'Remove a pin',
  answers: { 202: removed },
  errors: ['NOT_IMPLEMENTED', 'NOT_FOUND'],
  handler: async (context, services) => {
    delegatesOf(services)
    await services.pins.discard({ account: context.principal.account.id, uploadId: context.param('requestid') })
    return { status: 202, headers: {}, body: null }
  },
})

/** Routes of the IPFS Pinning Service API, for the same records as the routes of the API contract. */
export const psaRoutes: readonly ContractRoute[] = [list, add, get, replace, remove]

/**
 * Returns this node's multiaddrs, to which clients connect to send their content.
 *
 * @throws HoldfastError `NOT_IMPLEMENTED` if the node has no public multiaddr
 */
function delegatesOf({ peers }: Services): string[] {
  const addresses = peers.addresses()
  if (addresses.length > 0) return addresses
  throw new HoldfastError(
    'NOT_IMPLEMENTED',
    'other nodes cannot reach this node: set network.enabled and network.listen',
  )
}

async function createPin(
  { principal, request }: AuthenticatedContext,
  { pins, scopes }: Services,
  {
    cid: text,
    name,
    origins,
    meta: given,
  }: { cid: string; name?: string; origins?: string[]; meta?: Record<string, string> },
) {
  // The API has no field for the visibility. The key of the metadata is not stored, because the visibility may change.
  const { visibility, ...meta } = given ?? {}
  const { record } = await pins.pin({
    account: principal.account.id,
    cid: text.trim(),
    customName: present(name),
    origins,
    meta,
    visibility: present(visibility),
    adopts: scopes.adoption(principal),
    isAnew: true,
    signal: request.signal,
  })
  // Contract: the answer is `queued`, even if the node has the content. The next request shows `pinned`.
  return { ...record, status: 'queued' as const }
}
