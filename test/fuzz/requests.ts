import type { CID } from 'multiformats/cid'
import { CODEC } from '../../src/ipld/cid.ts'
import { carOf, sectionOf } from '../content/car/support/cars.ts'
import { blockOf, directoryOf, fileOf, identityBlock, leaf, leaves } from '../pins/fetches/support/dags.ts'
import { pseudoRandom } from '../support/bytes.ts'
import type { Draws } from '../support/draws.ts'
import { SECRET } from './canaries.ts'

/** A request as it goes over the wire: a head line by line, and a body. */
export interface FuzzedRequest {
  method: string
  path: string
  headers: Array<[name: string, value: string]>
  body: Buffer
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH'] as const
const API_PATHS = [
  ...['', '/', '/health', '/openapi.json', '/docs', '/files', '/files/directory', '/files/directory-dag', '/files/car'],
  ...['/files/pin/CID', '/files/rename/ID', '/files/remove/CID', '/status/CID', '/status/allocations/CID', '/peers'],
  ...['/allocations/CID', '/users/me', '/users/me/uploads', '/users/me/uploads/dag/CID', '/users/me/clusters'],
  ...['/auth/signup', '/auth/login', '/auth/2fa/verify-login', '/auth/2fa/setup', '/auth/2fa/enable', '/tokens/list'],
  ...[
    '/tokens/generate',
    '/tokens/revoke/ID',
    '/webhooks',
    '/webhooks/ID',
    '/webhooks/ID/deliveries',
    '/plans',
    '/plans/my-plan',
    '/plans/change',
    '/users/me/plans',
  ],
  ...['/users/me/preferences', '/locales/languages', '/payments/ID', '/nowhere', '/users/me/uploads/CID'],
] as const
const OTHER_PATHS = [
  '/health',
  '/metrics',
  '/admin/v1/stats',
  '/admin/v1/accounts',
  '/admin/v1/history',
  '/admin/v1/failures',
  '/admin/v1/peers',
  '/console',
  '/console/',
  '/api/v1/x',
  '/api/v2',
  '/ipns/ID',
  '/',
  '/psa/pins',
  '/psa/pins?cid=CID',
  '/psa/pins/ID',
  '/psa/nowhere',
] as const
const QUERIES = [
  ...[
    'page',
    'limit',
    'cid',
    'parentCid',
    'hasExpiration',
    'cl',
    'cluster',
    'format',
    'dag-scope',
    'entity-bytes',
    'after',
  ],
  ...[
    'filename',
    'download',
    'sort',
    'status',
    'before',
    'q',
    'name',
    'match',
    'meta',
    'type',
    'allowPartial',
    'timelock',
  ],
] as const
const HEADERS = [
  ...[
    'accept',
    'range',
    'if-none-match',
    'if-range',
    'content-type',
    'authorization',
    'x-api-key',
    'x-cluster',
    'prefer',
  ],
  ...['x-forwarded-for', 'x-forwarded-host', 'x-request-source', 'content-encoding', 'origin', 'cache-control', 'te'],
  ...['access-control-request-method', 'if-modified-since', 'host', 'cookie', 'service-worker', 'accept-language'],
] as const
const VALUES = [
  ...[
    '',
    ' ',
    '*/*',
    'text/html',
    'application/json',
    'application/vnd.ipld.raw',
    'application/vnd.ipld.car;version=1;order=dfs',
  ],
  ...[
    'bytes=0-',
    'bytes=5-2',
    'bytes=-0',
    'bytes=0-0,1-1,2-2',
    'bytes=99999999999999999999-',
    '"x", W/"y"',
    'Bearer x',
    'null',
  ],
  ...[
    '0',
    '-1',
    '1e9',
    '9007199254740993',
    'true',
    'false',
    '../..',
    '%2e%2e%2f',
    '%',
    '%00',
    '%ff',
    '\\',
    '"',
    "'",
    '[]',
    '{}',
  ],
  ...[
    'raw',
    'car',
    'tar',
    'json',
    'dag-json',
    'dag-cbor',
    'ipns-record',
    'block',
    'all',
    'entity',
    '2030-01-01T00:00:00Z',
  ],
  ...[
    'multipart/form-data',
    'multipart/form-data; boundary=',
    'multipart/form-data; boundary="b',
    'gzip',
    'cl0-global',
    'cl9',
  ],
  ...[
    'respond-async',
    'respond-async, wait=0',
    'wait=1e400',
    '127.0.0.1, ::1, unix:',
    'é',
    'a\u0000b',
    'a'.repeat(3_000),
    ','.repeat(2_000),
  ],
] as const

/** Content that is stored before the requests begin, for them to ask for. */
export const KNOWN = directoryOf({
  'a file': fileOf(leaves(3, 5_000, 'fuzz')),
  'é%25.html': leaf(Buffer.from('<html>')),
  dir: directoryOf({ 'index.html': leaf(Buffer.from('index')), b: leaf(pseudoRandom(100, 'b')) }),
  _redirects: leaf(Buffer.from('/old/* /dir/:splat 301\n')),
})

/** Content of which the limits of CIDs are: an identity CID of 128 bytes, and one of a byte more. */
const IDENTITIES = [128, 129, 300].map(size => identityBlock(CODEC.raw, Buffer.alloc(size, 'fuzz ')).cid)

const CIDS = [KNOWN, SECRET].flatMap(({ root, blocks }) => [root, ...blocks.map(({ cid }) => cid)].map(String))

/**
 * Makes one request after the other, each from what real ones are made of, with parts that are wrong. Most have one of
 * the keys.
 */
export async function nextRequest(draws: Draws, keys: readonly [string, ...string[]]): Promise<FuzzedRequest> {
  const kind = draws.below(10)
  const request =
    kind < 4
      ? apiRequest(draws)
      : kind < 6
        ? gatewayRequest(draws)
        : kind < 8
          ? formRequest(draws)
          : await carRequest(draws)
  if (draws.below(8) !== 0) request.headers.push(['x-api-key', draws.pick(keys)])
  for (let i = draws.below(3); i > 0; i--) request.headers.push([draws.pick(HEADERS), value(draws)])
  if (draws.below(12) === 0) request.body = mutated(draws, request.body)
  return request
}

function apiRequest(draws: Draws): FuzzedRequest {
  const base = draws.below(6) === 0 ? draws.pick(OTHER_PATHS) : `/api/v3${draws.pick(API_PATHS)}`
  const path = base.replace('CID', cid(draws)).replace('ID', encodeURIComponent(value(draws)).slice(0, 200))
  const method = draws.below(5) === 0 ? draws.pick(METHODS) : usualMethod(base)
  const body = method === 'GET' || method === 'HEAD' ? Buffer.alloc(0) : Buffer.from(json(draws, 0))
  return { method, path: withQuery(draws, path), headers: [['content-type', 'application/json']], body }
}

/** The method that a path is made for. */
function usualMethod(path: string): string {
  if (/remove|revoke/.test(path)) return 'DELETE'
  if (/rename|change/.test(path)) return 'PUT'
  return /\/(files|auth|tokens\/generate|webhooks$|psa\/pins$)/.test(path) ? 'POST' : 'GET'
}

function gatewayRequest(draws: Draws): FuzzedRequest {
  const names = [
    'a%20file',
    'dir',
    'dir/',
    'dir/b',
    'old/b',
    '%C3%A9%2525.html',
    '..',
    '.',
    '',
    '%2F',
    '%',
    'dir//b',
    '\\',
  ] as const
  const path = `/ipfs/${cid(draws)}${draws.below(3) === 0 ? '' : `/${draws.pick(names)}`}`
  return {
    method: draws.pick(['GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS']),
    path: withQuery(draws, path),
    headers: [],
    body: Buffer.alloc(0),
  }
}

function formRequest(draws: Draws): FuzzedRequest {
  const boundary = draws.pick(['b', 'boundary', '-'.repeat(70), 'b'.repeat(200), "'()+_,-./:=?"])
  const lines = [
    'content-disposition: form-data',
    'Content-Type: text/plain',
    'content-transfer-encoding: base64',
    'x:',
    ':',
    '',
  ]
  const part = (): string => {
    const name = draws.pick(['file', 'files[]', 'cl', 'timelock', 'customName', '', 'path', value(draws)])
    const filename = draws.pick(['a', 'd/a', 'd/../a', '/a', 'a\\b', '', value(draws), '\u0000', 'é', '%22', '\\"'])
    const disposition = `content-disposition: form-data; name="${name}"; filename${draws.pick(['', '*'])}="${filename}"`
    const head = [
      disposition,
      ...Array.from({ length: draws.below(3) }, () => draws.pick(lines as [string, ...string[]])),
    ]
    return `--${boundary}\r\n${head.join('\r\n')}\r\n\r\n${pseudoRandom(draws.below(2_000), draws.below(50)).toString('latin1')}\r\n`
  }
  const parts = Array.from({ length: draws.below(6) }, part)
  const end = draws.pick([`--${boundary}--\r\n`, `--${boundary}--`, '', `--${boundary}\r\n`, '\r\n--'])
  const path = draws.pick(['/api/v3/files', '/api/v3/files/directory-dag', '/api/v3/files/car', '/api/v3/auth/login'])
  const type = `multipart/form-data; boundary=${draws.below(10) === 0 ? value(draws) : boundary}`
  return { method: 'POST', path, headers: [['content-type', type]], body: Buffer.from(parts.join('') + end, 'latin1') }
}

async function carRequest(draws: Draws): Promise<FuzzedRequest> {
  if (draws.below(4) === 0) return documentRequest(draws)
  const dags = leaves(1 + draws.below(5), 1 + draws.below(3_000), `car ${draws.below(20)}`)
  const dag =
    draws.below(2) === 0 ? fileOf(dags) : directoryOf(Object.fromEntries(dags.map((leaf, i) => [`f${i}`, leaf])))
  const blocks = draws.below(4) === 0 ? dag.blocks.slice(draws.below(dag.blocks.length)) : dag.blocks
  let body = await carOf(draws.below(10) === 0 ? [] : [dag.root], blocks)
  if (draws.below(4) === 0) body = Buffer.concat([body, sectionOf(pseudoRandom(draws.below(100), draws.below(99)))])
  if (draws.below(2) === 0) body = mutated(draws, body)
  return {
    method: 'POST',
    path: withQuery(draws, '/api/v3/files/car'),
    headers: [['content-type', 'application/vnd.ipld.car']],
    body,
  }
}

/** A CAR of one document with links and strings of any length. */
async function documentRequest(draws: Draws): Promise<FuzzedRequest> {
  const link = (): string => {
    const drawn = draws.below(4)
    if (drawn < 2) return cid(draws)
    return drawn === 2 ? `${draws.pick(IDENTITIES as [CID, ...CID[]])}` : draws.pick(PREFIXES) + grown(draws)
  }
  const entries = Array.from({ length: 1 + draws.below(5) }, (_, i) => {
    const value = draws.below(3) === 0 ? JSON.stringify(grown(draws)) : JSON.stringify({ '/': link() })
    return `"${i}":${value}`
  })
  const node = blockOf(CODEC.dagJson, Buffer.from(`{${entries}}`))
  return {
    method: 'POST',
    path: '/api/v3/files/car?allowPartial=true',
    headers: [['content-type', 'application/vnd.ipld.car']],
    body: await carOf([node.cid], [node]),
  }
}

/** How CIDs begin, by their base. */
const PREFIXES = ['z', 'Z', 'k', 'K', '9', 'b', 'B', 'f', 'm', 'u', 'Qm', 'bafkqa', ''] as const

/** A string of up to half a million characters; most are short. */
function grown(draws: Draws): string {
  const length = draws.below(2 ** draws.below(20))
  return draws.pick(['2', 'z', 'a', 'é', '\u0000', '12D3KooW']).repeat(length)
}

/** Some bytes changed, taken out, repeated or cut off. */
export function mutated(draws: Draws, bytes: Buffer): Buffer {
  const at = draws.below(bytes.length + 1)
  const length = draws.below(40)
  switch (draws.below(5)) {
    case 0:
      return bytes.subarray(0, at)
    case 1:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
    case 2:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)])
    case 3:
      return Buffer.concat([bytes.subarray(0, at), pseudoRandom(length, draws.below(1_000)), bytes.subarray(at)])
    default: {
      const changed = Buffer.from(bytes)
      for (let i = 0; i < 4; i++)
        changed[draws.below(changed.length)] = draws.pick([0, 0xff, 0x80, 0x7f, draws.below(256)])
      return changed
    }
  }
}

function withQuery(draws: Draws, path: string): string {
  const pairs = Array.from({ length: draws.below(4) }, () => {
    const given = draws.below(4) === 0 ? value(draws).replace(/[^!-~]/g, '') : encodeURIComponent(value(draws))
    return `${draws.pick(QUERIES)}=${given.replace(/[#\s]/g, '')}`
  })
  return pairs.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${pairs.join('&')}`
}

function cid(draws: Draws): string {
  const known = draws.pick(CIDS as [string, ...string[]])
  const mixed = [...known]
  mixed[draws.below(mixed.length)] = draws.pick(['0', 'A', 'z', '%', '-'])
  const drawn = draws.below(9)
  if (drawn === 8) return `${draws.pick(IDENTITIES as [CID, ...CID[]])}`
  if (drawn < 4) return known
  if (drawn < 5) return mixed.join('')
  if (drawn < 6) return known.slice(0, draws.below(known.length))
  return draws.pick([
    'Qm',
    `Qm${'1'.repeat(44)}`,
    'bafkqaaa',
    'bafyaaaa',
    'z',
    'f01',
    `b${'a'.repeat(500)}`,
    'uAXASI',
    '%F0',
    known.toUpperCase(),
  ])
}

function value(draws: Draws): string {
  const drawn = draws.below(10)
  if (drawn < 7) return draws.pick(VALUES)
  if (drawn < 8) return draws.below(8) === 0 ? draws.pick(PREFIXES) + grown(draws).slice(0, 12_000) : cid(draws)
  if (drawn < 9) return cid(draws)
  return pseudoRandom(draws.below(60), draws.below(1_000))
    .toString('latin1')
    .replace(/[^ -~\xa0-\xff]/g, '')
}

const FIELDS = [
  ...['originalName', 'customName', 'filename', 'cl', 'timelock', 'origins', 'newName', 'dirPath', 'email', 'password'],
  ...[
    'name',
    'label',
    'scopes',
    'permissions',
    'expiresInDays',
    'ipAllowlist',
    'code',
    'token',
    'graceSeconds',
    'maxUses',
    'maxBytes',
    'expiresInSeconds',
    'url',
    'cid',
    'meta',
    '__proto__',
  ],
] as const

function json(draws: Draws, depth: number): string {
  switch (draws.below(depth > 3 ? 5 : 9)) {
    case 0:
      return draws.pick(['null', 'true', 'false', '0', '-1', '1e999', '""', '123456789012345678901234567890'])
    case 1:
      return `[${Array.from({ length: draws.below(4) }, () => json(draws, depth + 1))}]`
    case 2:
      return draws.pick([
        '',
        '{',
        '[',
        '"',
        'nul',
        '{"a":}',
        '\ufeff{}',
        '{"a":1,}',
        '\u0000',
        '"a\\u0000"',
        '"\\ud800"',
      ])
    case 3:
      return JSON.stringify(draws.below(8) === 0 ? draws.pick(PREFIXES) + grown(draws) : value(draws))
    case 4:
      return JSON.stringify(value(draws))
    default: {
      const pairs = Array.from(
        { length: draws.below(5) },
        () => `${JSON.stringify(draws.pick(FIELDS))}:${json(draws, depth + 1)}`,
      )
      return `{${pairs}}`
    }
  }
}
