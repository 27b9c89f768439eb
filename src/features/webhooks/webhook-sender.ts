import type { LookupFunction } from 'node:net'
import { HoldfastError } from '../../domain/errors.ts'
import { httpAgent, isTimeout } from '../../outgoing/http-agent.ts'
import { lookupPublic, namesPrivateHost, PrivateAddressError } from '../../outgoing/public-lookup.ts'
import { discard } from '../../outgoing/redirects.ts'

export interface WebhookRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/** Sends webhook requests to the URLs of accounts. The caller must close the client. */
export interface WebhookSender {
  /**
   * Returns the HTTP status of the response. Private and unreachable addresses cause the same error, so accounts cannot
   * learn which internal host names exist. Only the `cause` differs.
   *
   * @throws HoldfastError `UNAVAILABLE` if the host is unreachable or does not respond in time
   */
  send(request: WebhookRequest): Promise<number>
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000

/** @param options.lookup resolves host names and refuses private addresses */
export function openWebhookSender({
  allowPrivate,
  lookup = lookupPublic,
}: {
  allowPrivate: boolean
  lookup?: LookupFunction
}): WebhookSender {
  // The runner bounds the connections.
  const agent = httpAgent({ timeoutMs: TIMEOUT_MS, lookup: allowPrivate ? undefined : lookup })
  return {
    send: async ({ url, ...rest }) => {
      try {
        if (!allowPrivate && namesPrivateHost(new URL(url))) throw new PrivateAddressError()
        const { statusCode, body } = await agent.request(url, { ...rest, method: 'POST', onlyStatus: true })
        discard({ body })
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
  return isTimeout(error) ? 'did not answer in time' : 'could not be reached'
}
