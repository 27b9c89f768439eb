import type { HttpResponse } from './content-coding.ts'
import { PrivateAddressError } from './public-lookup.ts'

const MOST_REDIRECTS = 3

/** A server redirects in a way that no client should follow. */
export class RedirectError extends Error {
  /** True if the server would redirect a retry as well. */
  readonly final: boolean

  constructor(message: string, final: boolean) {
    super(message)
    this.final = final
  }
}

/**
 * Requests a URL, and the targets of its redirects. Checks each URL before it connects. The caller must read or destroy
 * the body of the response.
 *
 * @throws PrivateAddressError for a URL that is not allowed; RedirectError; the errors of `send`
 */
export async function requestFollowing(
  start: URL,
  isAllowed: (url: URL) => boolean,
  send: (url: URL) => Promise<HttpResponse>,
): Promise<{ url: URL; response: HttpResponse }> {
  let url = start
  for (let redirects = 0; ; redirects++) {
    if (!isAllowed(url)) throw new PrivateAddressError()
    const response = await send(url)
    if (response.statusCode < 300 || response.statusCode >= 400) return { url, response }
    discard(response)
    if (redirects === MOST_REDIRECTS) throw new RedirectError('redirects too often', true)
    const { location } = response.headers
    if (typeof location !== 'string' || !URL.canParse(location, url.href)) {
      throw new RedirectError('redirects without a valid location', false)
    }
    url = new URL(location, url)
  }
}

/** Closes the connection of a response whose body nobody reads. */
export function discard({ body }: Pick<HttpResponse, 'body'>): void {
  body.on('error', () => undefined)
  body.destroy()
}

/** Returns whether a URL has a scheme of HTTP and no credentials. Does not check its host. */
export function isPlainHttpUrl({ protocol, username, password }: URL): boolean {
  return /^https?:$/.test(protocol) && username === '' && password === ''
}
