import assert from 'node:assert/strict'
import type { GatewayAnswer, GatewayClient } from './client.ts'
import type { GatewayWorld } from './world.ts'

/** A gateway of its own for one audit, with functions to operate it. */
export interface AuditContext extends GatewayClient {
  world: GatewayWorld
  /** The client's scheme, if the gateway can know it. */
  scheme?: 'http'
}

/** A requirement on a gateway, with its section of the specification. */
export interface GatewayAudit {
  id: string
  name: string
  run(context: AuditContext): Promise<void>
}

export async function get(
  { request }: AuditContext,
  path: string,
  status: number,
  headers?: Record<string, string>,
): Promise<GatewayAnswer> {
  const answer = await request('GET', path, headers)
  assert.equal(answer.status, status, `${path}: ${answer.status} ${answer.body.subarray(0, 300)}`)
  return answer
}

/** Checks a JSON error with a message. */
export async function getError(
  context: AuditContext,
  path: string,
  status: number,
  code: string,
  headers?: Record<string, string>,
): Promise<GatewayAnswer> {
  const answer = await get(context, path, status, headers)
  assert.match(answer.header('content-type') ?? '', /^application\/json/)
  const body = JSON.parse(answer.text)
  assert.equal(body.code, code)
  assert.ok(body.message.length > 10)
  assert.equal(answer.header('cache-control'), 'no-store')
  return answer
}

/** Checks that HEAD has the headers of GET. */
export async function assertSameHead(
  context: AuditContext,
  path: string,
  headers?: Record<string, string>,
): Promise<void> {
  const full = await context.request('GET', path, headers)
  const head = await context.request('HEAD', path, headers)
  assert.equal(head.status, full.status)
  assert.equal(head.body.length, 0)
  for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'x-ipfs-roots', 'content-range']) {
    if (name === 'content-length' && head.header(name) === undefined) continue
    assert.equal(head.header(name), full.header(name), name)
  }
}
