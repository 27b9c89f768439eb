import type { ApiRequest } from '../../src/index.ts'

/**
 * Why a password must not be typed into a page that comes this way; null if it may. What browsers go by themselves: by
 * TLS, or by a name that leads to the machine that the browser runs on.
 */
export function unsafeConnection(request: ApiRequest, trustedProxies: number): string | null {
  const { scheme } = request
  const host = hostOf(request.header('host'))
  if (host === null) return 'The console needs a Host header.'
  if (scheme === 'https' || (scheme === 'http' && isLoopbackName(host))) return null
  const why =
    scheme === 'http'
      ? 'This address is plain HTTP: whoever is on the way could read your password and your keys, and change this page.'
      : trustedProxies === 0
        ? 'This came through a proxy that the node was not told of, so that it cannot tell whether TLS protects the way.'
        : 'The proxy does not say by X-Forwarded-Proto whether TLS protects the way.'
  const how =
    scheme === 'http'
      ? 'Put a proxy with TLS in front and set trustedProxies, or come by http://localhost: on the machine itself, or ' +
        'through a tunnel (ssh -L 4100:127.0.0.1:4100 the-machine).'
      : 'Set trustedProxies in the configuration, and have the proxy send X-Forwarded-For, X-Forwarded-Proto and Host.'
  return `The console is not served here.\n\n${why}\n\n${how}`
}

/** The name or address in a Host header; null for what is none and must not get into a header of ours. */
function hostOf(header: string | undefined): string | null {
  if (header === undefined || !/^[a-z0-9.\-_[\]:]+$/i.test(header) || !URL.canParse(`http://${header}`)) return null
  return new URL(`http://${header}`).hostname.toLowerCase()
}

/** As browsers have it, see Secure Contexts. */
function isLoopbackName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
