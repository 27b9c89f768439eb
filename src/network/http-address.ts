import { isIP } from 'node:net'

/**
 * Returns the multiaddr of a gateway, such as `/dns/content.example.org/tcp/443/tls/http`. Returns null for a URL with a
 * path, because clients append `/ipfs/<cid>` to the multiaddr.
 *
 * @param url `http` or `https`
 */
export function httpAddressOf(url: string | undefined): string | null {
  if (url === undefined) return null
  const { protocol, hostname, port, pathname } = new URL(url)
  if (pathname !== '/') return null
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const version = isIP(host)
  const [scheme, defaultPort] = protocol === 'https:' ? ['tls/http', 443] : ['http', 80]
  return `/${version === 0 ? 'dns' : `ip${version}`}/${host}/tcp/${port || defaultPort}/${scheme}`
}
