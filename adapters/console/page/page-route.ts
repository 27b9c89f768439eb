import { useLayoutEffect, useState } from 'preact/hooks'

/** The parsed hash of the URL, such as `#/pin/CID?cluster=ID`. */
export interface PageRoute {
  /** Decoded names of the path. */
  path: readonly string[]
  query: URLSearchParams
}

/** Returns a route without a view if the hash cannot be decoded. */
export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  try {
    return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) }
  } catch {
    return { path: [''], query: new URLSearchParams() }
  }
}

/** Omits query parameters that are undefined or empty. */
export function routeTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((field): field is [string, string] => (field[1] ?? '') !== '')
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

export function useRoute(): PageRoute {
  const [hash, setHash] = useState(location.hash)
  // A normal effect runs after the first paint, and would miss a change before it.
  useLayoutEffect(() => {
    const follow = (): void => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return parseRoute(hash)
}
