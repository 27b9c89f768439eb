import type { ClusterRegistry } from '../api.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** The registry as others see it. */
export function publicClusters(parts: Parts): ClusterRegistry {
  const registry = parts.get(T.clusters)
  const planOf = async (id: string) => parts.get(T.plans).get((await parts.get(T.accounts).get(id)).plan)
  return {
    list: async ({ account } = {}) =>
      registry.allowed(account === undefined ? { clusters: '*' } : await planOf(account)),
    backendOf: async (cluster = registry.defaultCluster) => {
      if (!registry.has(cluster)) throw new HoldfastError('NOT_FOUND', `there is no cluster ${cluster}`)
      const here = registry.backendOf(cluster)
      return parts.get(T.remoteBackends).get(here.id) ?? here
    },
  }
}
