import type { Static } from 'typebox'
import { Value } from 'typebox/value'
import { type ClusterDefinition, DEFAULT_CLUSTER, knownClusters } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans, type Plan } from '../domain/plan.ts'
import { UNKEPT, unkeptIn } from '../domain/text.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import { cidOrNull } from '../ipld/cid.ts'
import type { BackendKind } from './backend-kind.ts'
import { checkBackends } from './cluster-backends.ts'
import { configSchema } from './config-schema.ts'
import type { EngineConfig } from './engine-options.ts'
import { checkOidc } from './oidc-schema.ts'
import { planSchema } from './plan-schema.ts'
import type { Complete } from './schema-parts.ts'
import { checkUrl, type Fail, firstProblem } from './schema-problem.ts'

type RawConfig = Static<typeof configSchema>
type RawPlan = Static<typeof planSchema>
/** A checked configuration. All fields of its clusters and plans are filled in. */
export type ParsedConfig = Omit<EngineConfig, 'clusters' | 'plans'> & {
  clusters?: readonly ClusterDefinition[]
  plans?: Readonly<Record<string, Omit<Plan, 'name'>>>
}

/** A configuration with all defaults, except defaults that depend on other values. */
export type CompleteConfig = Omit<Complete<typeof configSchema>, 'clusters' | 'plans' | 'network'> &
  Pick<ParsedConfig, 'clusters' | 'plans' | 'network'>

export function withDefaults(config: ParsedConfig): CompleteConfig {
  return Value.Default(configSchema, structuredClone(config)) as CompleteConfig
}

/**
 * Checks a configuration from a file or from code. Fills in the defaults of its clusters and plans.
 * @param source start of the error message, for example a file name
 * @param kinds kinds of remote systems that clusters may use; default: none
 * @throws HoldfastError `CONFIG_INVALID` with the name of the wrong field, such as `plans.team.pageLimit.max`, or of an
 * unknown key
 * @example const { clusters } = parseConfig({ clusters: [{ id: 'main' }] }, 'settings')
 */
export function parseConfig(value: unknown, source: string, kinds: readonly BackendKind[] = []): ParsedConfig {
  const fail = (path: string, problem: string): never => {
    throw new HoldfastError('CONFIG_INVALID', [source, path, problem].filter(part => part !== '').join(': '))
  }
  if (!Value.Check(configSchema, value)) {
    const { path, problem } = firstProblem(configSchema, value)
    return fail(path, problem)
  }
  const unkept = unkeptIn(value, '')
  if (unkept !== null) return fail(unkept, UNKEPT)
  checkBackends(value, kinds, fail)
  const { clusters: _, plans: __, ...rest } = value
  const config: ParsedConfig = { ...rest, ...completeClusters(value), ...completePlans(value) }
  checkUrls(config, fail)
  checkClusters(config, fail)
  checkNode(config, fail)
  checkPlans(config, fail)
  const { passwordCost = 1 } = config
  if (!Number.isInteger(Math.log2(passwordCost))) fail('passwordCost', 'must be a power of two')
  checkGateway(config, fail)
  if (config.publicUrl !== undefined) config.publicUrl = withoutTrailingSlashes(config.publicUrl)
  const content = config.gateway?.publicUrl
  if (content !== undefined) {
    config.gateway = { ...config.gateway, publicUrl: withoutTrailingSlashes(content).replace(/\/ipfs$/, '') }
  }
  return config
}

function completeClusters({ clusters }: RawConfig): Pick<ParsedConfig, 'clusters'> {
  if (clusters === undefined) return {}
  return {
    clusters: clusters.map(({ nodes, ...given }) => {
      const own = nodes === undefined ? {} : { nodes, node: given.node ?? nodes[0] }
      return { label: given.id, region: '', country: null, gateways: [], ...given, ...own } as ClusterDefinition
    }),
  }
}

function completePlans({ plans }: RawConfig): Pick<ParsedConfig, 'plans'> {
  if (plans === undefined) return {}
  return { plans: Object.fromEntries(Object.entries(plans).map(([name, plan]) => [name, completePlan(plan)])) }
}

function completePlan(plan: RawPlan): Omit<Plan, 'name'> {
  return Value.Default(planSchema, { ...plan }) as Complete<typeof planSchema>
}

function checkGateway({ gateway = {} }: ParsedConfig, fail: Fail): void {
  const { mode = 'own', allow } = gateway
  if (mode === 'allow-list' && allow === undefined) fail('gateway.allow', 'is required by the mode allow-list')
  if (mode !== 'allow-list' && allow !== undefined) fail('gateway.allow', 'requires the mode allow-list')
  allow?.forEach((cid, i) => {
    if (cidOrNull(cid) === null) fail(`gateway.allow.${i}`, 'must be a valid CID')
  })
}

function checkUrls(config: ParsedConfig, fail: Fail): void {
  const check = (path: string, value: string | undefined): void => checkUrl(path, value, fail)
  check('publicUrl', config.publicUrl)
  check('gateway.publicUrl', config.gateway?.publicUrl)
  check('node.url', config.node?.url)
  config.clusters?.forEach((cluster, i) => {
    cluster.gateways.forEach((gateway, j) => {
      check(`clusters.${i}.gateways.${j}.publicUrl`, gateway.publicUrl)
      check(`clusters.${i}.gateways.${j}.url`, gateway.url)
    })
  })
}

function checkClusters(config: ParsedConfig, fail: Fail): void {
  const ids = clusterIds(config)
  ids.forEach((id, i) => {
    if (ids.indexOf(id) !== i) fail(`clusters.${i}.id`, `${id} occurs twice`)
  })
  config.clusters?.forEach(({ backend, dataDir, alsoIn = [] }, i) => {
    if (alsoIn.length > 0 && (backend !== undefined || dataDir === undefined)) {
      fail(`clusters.${i}.alsoIn`, 'needs a cluster with dataDir and without backend')
    }
  })
  const fallback = config.defaultCluster ?? DEFAULT_CLUSTER
  if (ids.includes(fallback)) return
  if (config.defaultCluster !== undefined) fail('defaultCluster', `${fallback} is not one of the clusters`)
  fail('defaultCluster', `is required, because ${fallback} is not one of the clusters`)
}

function checkNode({ node, clusters = knownClusters, database }: ParsedConfig, fail: Fail): void {
  if (node !== undefined && database === undefined) fail('node', 'requires database, which the nodes share')
  clusters.forEach((cluster, i) => {
    if (node === undefined && cluster.node !== undefined)
      fail(`clusters.${i}.node`, 'requires node, which names this node')
    if (node !== undefined && cluster.node === undefined) fail('clusters', `${cluster.id} must name its node`)
    checkCopies(cluster, problem => fail(`clusters.${i}.${problem.field}`, problem.text))
  })
}

function checkCopies(
  { node, nodes, copies = 1, backend }: ClusterDefinition,
  fail: (problem: { field: 'nodes' | 'copies'; text: string }) => void,
): void {
  if (nodes !== undefined && nodes[0] !== node) fail({ field: 'nodes', text: 'must begin with node, or replace it' })
  if (new Set(nodes).size < (nodes?.length ?? 0)) fail({ field: 'nodes', text: 'must name each node once' })
  if (copies > (nodes?.length ?? 1)) fail({ field: 'copies', text: 'must be at most the number of nodes' })
  if (copies > 1 && backend !== undefined) fail({ field: 'copies', text: 'must be 1, because another system copies' })
}

function checkPlans(config: ParsedConfig, fail: Fail): void {
  const ids = clusterIds(config)
  for (const [name, plan] of Object.entries(config.plans ?? {})) {
    const path = `plans.${name}`
    if (!/^[\w.-]{1,64}$/.test(name))
      fail(path, 'the name of a plan must be 1 to 64 of the characters A-Z a-z 0-9 _ . -')
    const { clusters, pageLimit } = plan
    const unknown = clusters === '*' ? undefined : clusters.find(id => !ids.includes(id))
    if (unknown !== undefined) fail(`${path}.clusters`, `${unknown} is not one of the clusters`)
    if (pageLimit.default > pageLimit.max) fail(`${path}.pageLimit.default`, `must not be over max, ${pageLimit.max}`)
  }
  const known = [...builtInPlans.map(plan => plan.name), ...Object.keys(config.plans ?? {})]
  const { plan } = config.signup ?? {}
  if (plan !== undefined && !known.includes(plan)) fail('signup.plan', `must be one of ${known.join(', ')}`)
  checkOidc(config.oidc, { publicUrl: config.publicUrl, plans: known }, fail)
}

function clusterIds(config: ParsedConfig): string[] {
  return (config.clusters ?? knownClusters).map(cluster => cluster.id)
}
