import type { LookupFunction } from 'node:net'
import { HoldfastError } from '../domain/errors.ts'
import { httpAgent } from './http-agent.ts'
import { lookupPublic, namesPrivateHost, PrivateAddressError } from './public-lookup.ts'

/** What is sent to an address that somebody has named. */
export interface WebhookRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/** Posts to addresses that accounts have named. The caller closes it. */
export interface WebhookSender {
  /**
   * The status of the answer, which is not read any further.
   *
   * @throws HoldfastError `UNAVAILABLE` if nobody is there, or does not answer in time. A private address reads like nobody
   * there, so that no account learns which names a network has inside; the cause says which it was.
   */
  send(request: WebhookRequest): Promise<number>
  close(): Promise<void>
}

const CONNECTIONS_EACH = 2
const TIMEOUT_MS = 10_000

/** @param options.lookup how names are looked up, in place of the system's way and its check */
export function openWebhookSender({
  allowPrivate,
  lookup = lookupPublic,
}: {
  allowPrivate: boolean
  lookup?: LookupFunction
}): WebhookSender {
  const agent = httpAgent({
    connections: CONNECTIONS_EACH,
    timeoutMs: TIMEOUT_MS,
    lookup: allowPrivate ? undefined : lookup,
  })
  return {
    send: async ({ url, ...rest }) => {
      try {
        if (!allowPrivate && namesPrivateHost(new URL(url))) throw new PrivateAddressError()
        const { statusCode, body } = await agent.request(url, { ...rest, method: 'POST' })
        body.on('error', () => undefined)
        body.destroy()
        return statusCode
      } catch (cause) {
        rest.signal.throwIfAborted()
        throw new HoldfastError('UNAVAILABLE', `the address ${reasonOf(cause)}`, { cause })
      }
    },
    close: agent.close,
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.endsWith('_TIMEOUT') || code === 'ETIMEDOUT' ? 'did not answer in time' : 'could not be reached'
}
