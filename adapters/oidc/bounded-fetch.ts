import type { CustomFetch } from 'openid-client'

/** Largest answer of a provider. A set of a few keys has some kilobytes. */
const MOST_BYTES = 256 * 1024

/**
 * Fetches an answer whole, within the time and `MOST_BYTES`. Follows no redirects, because a request has the client's
 * secret.
 */
export function boundedFetch(timeoutMs: number): CustomFetch {
  return async (url, { body = null, signal: given, ...options }) => {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(given === undefined ? [] : [given])])
    const answer = await fetch(url, { ...options, body, redirect: 'manual', signal })
    const parts: Uint8Array[] = []
    let bytes = 0
    // The signal also ends the body of a provider that answers slowly.
    for await (const part of answer.body ?? []) {
      bytes += part.length
      if (bytes > MOST_BYTES) throw new Error(`the answer has over ${MOST_BYTES} bytes`)
      parts.push(part)
    }
    const { status, headers } = answer
    const hasBody = ![204, 205, 304].includes(status)
    return new Response(hasBody ? Buffer.concat(parts) : null, { status: status < 200 ? 502 : status, headers })
  }
}
