import type { LookupFunction } from 'node:net'
import { HoldfastError } from '../domain/errors.ts'
import { httpAgent } from './http-agent.ts'
import { lookupPublic, namesPrivateHost, PrivateAddressError } from './public-lookup.ts'

/** A webhook request to an account's URL. */
export interface WebhookRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/** Sends webhook requests to the URLs of accounts. The caller closes it. */
export interface WebhookSender {
  /**
   * Sends a request. Returns the status of the answer and ignores its body. A private address gives the same error as
   * an unreachable one, so that no account learns which internal names exist. The cause says which it was.
   *
   * @throws HoldfastError `UNAVAILABLE` if the host is unreachable or does not answer in time
   */
  send(request: WebhookRequest): Promise<number>
  close(): Promise<void>
}

const CONNECTIONS_EACH = 2
const TIMEOUT_MS = 10_000

/** @param options.lookup replaces the system's lookup and its check */
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
        throw new HoldfastError('UNAVAILABLE', `the receiver ${reasonOf(cause)}`, { cause })
      }
    },
    close: agent.close,
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.endsWith('_TIMEOUT') || code === 'ETIMEDOUT' ? 'did not answer in time' : 'could not be reached'
}
