import { useEffect, useState } from 'preact/hooks'

/** The route, from the part of the address behind `#`: `#/pin/CID?cluster=ID`. */
export interface PageRoute {
  /** Decoded names between the slashes. */
  path: readonly string[]
  query: URLSearchParams
}

/** A hash that cannot be decoded is the root. */
export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  try {
    return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) }
  } catch {
    return { path: [''], query: new URLSearchParams() }
  }
}

/** Returns the hash of a route, without undefined or empty query parameters. */
export function routeTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((field): field is [string, string] => (field[1] ?? '') !== '')
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

/** Returns the current route, and redraws with it. */
export function useRoute(): PageRoute {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = (): void => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return parseRoute(hash)
}
