// Loaded by the threads of the gateway, so neither this file nor its imports load the engine.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { underName } from '../../src/concurrency/work.ts'
import type { ApiHandler } from '../../src/index.ts'
import { refuse } from './bare-refusal.ts'
import { splitTarget, toApiRequest } from './request.ts'
import { sendResponse } from './response.ts'

/** Older versions of Node pay for it at every await. */
const NAMES_WORK = Number.parseInt(process.versions.node, 10) >= 24

/** Answers a request; `invite` sends `100 Continue` to a client that waits for it. */
export type Exchange = (incoming: IncomingMessage, outgoing: ServerResponse, invite?: () => void) => void

/** Makes an exchange for a server of a gateway alone. `sent` counts the bytes of bodies. */
export function createGatewayExchange(gateway: ApiHandler, sent: (bytes: number) => void): Exchange {
  return exchangeBy(async (incoming, outgoing, invite) => {
    const invitation = invitationBy(invite)
    const request = toApiRequest(incoming, outgoing, splitTarget(incoming)[0], invitation.send)
    await sendResponse(incoming, outgoing, await gateway(request), invitation.isSent, sent)
  })
}

export type Serve = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  invite: (() => void) | undefined,
) => Promise<void>

/** Names the work, and answers every request or ends its connection. Refuses several Host headers. */
export function exchangeBy(serve: Serve): Exchange {
  return (incoming, outgoing, invite) => {
    if (refusesHost(incoming, outgoing)) return
    const exchange = (): void => {
      serve(incoming, outgoing, invite).catch(() => outgoing.destroy())
    }
    if (NAMES_WORK) underName(`${incoming.method} of no route`, exchange)
    else exchange()
  }
}

/** Sends `100 Continue` at most once, if the client waits for it. */
export function invitationBy(invite: (() => void) | undefined): { send: () => void; isSent: () => boolean } {
  let isSent = invite === undefined
  return {
    send: () => {
      if (!isSent) invite?.()
      isSent = true
    },
    isSent: () => isSent,
  }
}

/** Refuses a request that has no Host header, or several (RFC 9112). Returns whether it has. */
export function refusesHost({ httpVersion, rawHeaders }: IncomingMessage, outgoing: ServerResponse): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (rawHeaders[at]?.toLowerCase() === 'host') hosts++
  if (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) return false
  const message = hosts === 0 ? 'a request of HTTP/1.1 needs a Host header' : 'a request has one Host header only'
  refuse(outgoing, { status: 400, code: 'VALIDATION', message })
  return true
}
