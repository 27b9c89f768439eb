import { useEffect, useState } from 'preact/hooks'

/** Where one is, as the part of the address behind `#` says it: `#/pin/CID?cluster=ID`. */
export interface PageRoute {
  /** The names between the slashes, decoded. */
  path: readonly string[]
  query: URLSearchParams
}

/** What cannot be decoded leads nowhere. */
export function parseRoute(hash: string): PageRoute {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  try {
    return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) }
  } catch {
    return { path: [''], query: new URLSearchParams() }
  }
}

/** The address of a place; what is undefined or empty is left out of the query. */
export function routeTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((field): field is [string, string] => (field[1] ?? '') !== '')
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

/** Where one is; follows the address. */
export function useRoute(): PageRoute {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const follow = (): void => setHash(location.hash)
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return parseRoute(hash)
}
