import { hostNameOf, isLoopbackName } from '../../src/domain/host-name.ts'
import type { ApiRequest } from '../../src/index.ts'

/**
 * Returns why this connection is unsafe for a password, or null. By the rule of browsers, TLS and loopback addresses
 * are safe.
 */
export function unsafeConnection(request: ApiRequest, trustedProxies: number): string | null {
  const { scheme } = request
  const host = hostNameOf(request.header('host'))
  if (host === null) return 'The console needs a Host header.'
  if (scheme === 'https' || (scheme === 'http' && isLoopbackName(host))) return null
  const why =
    scheme === 'http'
      ? 'This address is plain HTTP: anyone between you and the server can read your password and keys, and change this page.'
      : trustedProxies === 0
        ? 'The request came through a proxy that the configuration does not name, so TLS cannot be verified.'
        : 'The proxy does not send X-Forwarded-Proto, so TLS cannot be verified.'
  const how =
    scheme === 'http'
      ? 'Put a proxy with TLS in front and set trustedProxies, open http://localhost: on the machine itself, or use a ' +
        'tunnel (ssh -L 4100:127.0.0.1:4100 the-machine).'
      : 'Set trustedProxies in the configuration, and let the proxy send X-Forwarded-For, X-Forwarded-Proto and Host.'
  return `The console is not served at this address.\n\n${why}\n\n${how}`
}
