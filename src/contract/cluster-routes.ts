import { Type } from 'typebox'
import type { Cluster } from '../clusters/cluster-registry.ts'
import { clusterId, count, text } from './answer-fields.ts'
import { type ContractRoute, route, type Shown } from './contract-route.ts'

export const ClusterView = Type.Object({
  clusterId,
  id: clusterId,
  label: text,
  region: text,
  country: Type.String({ description: 'the region for a cluster without a single country' }),
  gateways: Type.Array(
    Type.Object({
      publicUrl: Type.String({ description: 'ends with /ipfs/; a CID behind it is a content URL' }),
      url: text,
      label: text,
      order: count,
    }),
  ),
})

const list = route({
  method: 'GET',
  path: '/users/me/clusters',
  access: 'cluster:read',
  tag: 'Lists',
  summary: 'List the clusters of the plan, with their gateways',
  answers: { 200: Type.Array(ClusterView, { title: 'Clusters' }) },
  handler: ({ principal }, { clusters }) => {
    return { status: 200, body: clusters.allowed(principal.plan).map(presentCluster) }
  },
})

export const clusterRoutes: readonly ContractRoute[] = [list]

/**
 * Fills every field, because clients require text: an empty region with the label, an empty country with the region.
 */
function presentCluster({ id, label, gateways, ...given }: Cluster): Shown<typeof ClusterView> {
  const region = given.region || label
  return { clusterId: id, gateways, id, label, region, country: given.country || region }
}
