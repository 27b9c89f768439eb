import { randomUUID } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { firstTurn } from '../../concurrency/turns.ts'
import { renameWork } from '../../concurrency/work.ts'
import { shareOf } from '../../domain/address-share.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { failureResponse } from '../../gateway/pages/failure-response.ts'
import { finished, methodRefused, PREFLIGHT } from '../../gateway/representations/content-headers.ts'
import { isContentHost } from '../../gateway/site/subdomain.ts'
import { logAnswer } from '../../http/access-log.ts'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../http/api-messages.ts'
import { cidOfText, multihashOfBase58 } from '../../ipld/cid.ts'
import type { ThreadParts } from '../gateway-feature.ts'
import { remembered } from './own-peer.ts'
import { filtered, filtersOf, type OwnPeer, type PeerRecord, recordOf } from './peer-record.ts'

type AnswerParts = ThreadParts & { own(): Promise<OwnPeer | null> }

const PREFIX = '/routing/v1/'
const ROUTE = '/routing/v1/*'
const NDJSON = 'application/x-ndjson'
const LIBP2P_KEY = 0x72
const HEADERS = { 'cache-control': 'public, max-age=60', vary: 'Accept', 'x-content-type-options': 'nosniff' }

/**
 * Answers the delegated routing API (IPIP-0337, IPIP-0484, IPIP-0513) on a gateway's own origin, for the content that
 * the gateway serves. All other requests go to the gateway.
 */
export function withRouter(gateway: ApiHandler, parts: ThreadParts): ApiHandler {
  const { options, ask, clock } = parts
  if (!options.routing) return gateway
  const { host = null } = options
  const own = remembered(async () => (await ask('own peer')) as OwnPeer | null, clock)
  return async request => {
    if (!request.path.startsWith(PREFIX) || isContentHost(request.header('host'), host)) return gateway(request)
    const startedAt = clock.now()
    const requestId = randomUUID()
    renameWork(`${request.method} ${ROUTE}`)
    let failure: unknown
    const answered = await answer(request, { ...parts, own }).catch((error: unknown) => {
      failure = error
      return failureResponse(request, error, requestId)
    })
    const response = finished(request, answered)
    const nobody = { account: null, credential: null, source: null }
    const known = { surface: 'gateway', route: ROUTE, bytesIn: 0, ...nobody } as const
    return logAnswer(parts, { ...known, request, response, requestId, failure, startedAt })
  }
}

async function answer(request: ApiRequest, parts: AnswerParts): Promise<ApiResponse> {
  const { method, path, remoteAddress, signal } = request
  if (method === 'OPTIONS') return PREFLIGHT
  const [kind, id, ...more] = path.slice(PREFIX.length).split('/')
  if ((kind !== 'providers' && kind !== 'peers') || id === undefined || id === '' || more.length > 0) {
    throw new HoldfastError(
      'NOT_FOUND',
      'this router answers only /routing/v1/providers/<cid> and /routing/v1/peers/<id>',
    )
  }
  if (method !== 'GET' && method !== 'HEAD') throw methodRefused('the router')
  const share = shareOf(remoteAddress)
  const turn = firstTurn(share, signal)
  if (turn !== null) await turn
  const slot = await parts.slots.enter(share, signal)
  try {
    const record = kind === 'providers' ? await providerOf(cidIn(id), signal, parts) : await peerOf(id, parts)
    const kept = record === null ? null : filtered(record, filtersOf(new URLSearchParams(request.query)))
    return listed(request, kind === 'providers' ? 'Providers' : 'Peers', kept === null ? [] : [kept])
  } finally {
    slot.leave()
  }
}

async function providerOf(cid: CID, signal: AbortSignal, parts: AnswerParts): Promise<PeerRecord | null> {
  const served = await parts.served(cid, signal)
  const own = served === null ? null : await parts.own()
  return served === null || own === null ? null : recordOf(own, served.isLocal)
}

async function peerOf(id: string, { own }: AnswerParts): Promise<PeerRecord | null> {
  const asked = multihashOfPeer(id)
  const self = await own()
  if (self === null || !Buffer.from(asked).equals(multihashOfPeer(self.peerId))) return null
  return recordOf(self, true)
}

/** @throws HoldfastError `INVALID_CID` */
function cidIn(text: string): CID {
  try {
    return cidOfText(text)
  } catch (cause) {
    throw new HoldfastError('INVALID_CID', 'path must end in a CID', { cause })
  }
}

/** @throws HoldfastError `VALIDATION` */
function multihashOfPeer(id: string): Uint8Array {
  try {
    return id.startsWith('1') ? multihashOfBase58(id).bytes : multihashOfKey(cidOfText(id))
  } catch (cause) {
    throw new HoldfastError('VALIDATION', 'path must end in a peer id', { cause })
  }
}

function multihashOfKey({ version, code, multihash }: CID): Uint8Array {
  if (version === 1 && code !== LIBP2P_KEY) throw new RangeError('the CID is not a key')
  return multihash.bytes
}

function listed({ header }: ApiRequest, name: 'Providers' | 'Peers', records: readonly PeerRecord[]): ApiResponse {
  const isStream = (header('accept') ?? '').includes(NDJSON)
  const body = isStream
    ? records.map(record => `${JSON.stringify(record)}\n`).join('')
    : JSON.stringify({ [name]: records })
  const type = isStream ? NDJSON : 'application/json'
  return { status: 200, headers: { ...HEADERS, 'content-type': type }, body }
}
