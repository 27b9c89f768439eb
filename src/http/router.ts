import { HoldfastError } from '../domain/errors.ts'
import { isText } from '../domain/text.ts'
import type { Route } from './route.ts'

export interface RouteMatch {
  route: Route
  params: ReadonlyMap<string, string>
}

interface CompiledRoute {
  route: Route
  segments: readonly string[]
}

/** Finds the first matching route. Ignores a trailing slash in the path. */
export class Router {
  readonly #routes: readonly CompiledRoute[]

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map(route => ({ route, segments: route.path.split('/').slice(1) }))
  }

  /**
   * @param path percent-encoded, without the query
   * @throws HoldfastError `NOT_FOUND`; `METHOD_NOT_ALLOWED` with `details.allow`; `VALIDATION` for a parameter with
   * malformed percent-encoding
   */
  match(method: string, path: string): RouteMatch {
    const segments = (path.endsWith('/') ? path.slice(0, -1) : path).split('/').slice(1)
    const allowed = new Set<string>()
    for (const { route, segments: pattern } of this.#routes) {
      const captured = capture(pattern, segments)
      if (captured === null) continue
      if (answers(route.method, method)) return { route, params: decode(captured) }
      allowed.add(route.method)
      if (route.method === 'GET') allowed.add('HEAD')
    }
    if (allowed.size === 0)
      throw new HoldfastError('NOT_FOUND', 'this path does not exist: GET /api/v3/openapi.json lists all paths')
    const allow = [...allowed, 'OPTIONS'].join(', ')
    throw new HoldfastError('METHOD_NOT_ALLOWED', `this path supports only ${allow}`, { details: { allow } })
  }
}

function answers(own: string, asked: string): boolean {
  return own === '*' || own === asked || (own === 'GET' && asked === 'HEAD')
}

function capture(pattern: readonly string[], segments: readonly string[]): [string, string][] | null {
  const captured: [string, string][] = []
  for (const [index, expected] of pattern.entries()) {
    if (expected.startsWith('*')) return [...captured, [expected.slice(1), segments.slice(index).join('/')]]
    const segment = segments[index]
    if (segment === undefined) return null
    if (expected.startsWith(':')) {
      if (segment === '') return null
      captured.push([expected.slice(1), segment])
    } else if (segment !== expected) {
      return null
    }
  }
  return segments.length === pattern.length ? captured : null
}

function decode(captured: readonly [string, string][]): Map<string, string> {
  return new Map(
    captured.map(([name, raw]) => {
      try {
        const value = decodeURIComponent(raw)
        // No id, key name or CID contains a `%`, so a lookup with the raw value finds nothing.
        return [name, isText(value) ? value : raw]
      } catch (cause) {
        throw new HoldfastError('VALIDATION', `${name} in the path is not valid percent-encoding`, { cause })
      }
    }),
  )
}
