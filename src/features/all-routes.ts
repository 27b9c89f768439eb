import { type RouteTable, routeTable } from '../contract/routes.ts'
import { features } from './feature-list.ts'

/** Returns all routes of a node for descriptions. Their handlers cannot be called. */
export async function allRoutes(): Promise<RouteTable> {
  const modules = await Promise.all(features.map(({ load }) => load()))
  return routeTable(modules.flatMap(({ routes }) => routes))
}
