import { isDeepStrictEqual } from 'node:util'
import type { Static, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { backendPlace, DEFAULT_CLUSTER, type IpfsClusterBackendDefinition, knownClusters } from '../domain/cluster.ts'
import { uncheckable } from '../domain/cluster-check.ts'
import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans } from '../domain/plan.ts'
import { UNKEPT, unkeptIn } from '../domain/text.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import { parseCid } from '../ipld/cid.ts'
import { backendSchemas } from './cluster-schema.ts'
import { configSchema } from './config-schema.ts'
import type { EngineConfig } from './options.ts'
import { planSchema } from './plan-schema.ts'
import type { Complete } from './schema-parts.ts'

type RawConfig = Static<typeof configSchema>
type RawPlan = Static<typeof planSchema>
type Plans = NonNullable<EngineConfig['plans']>

/** A configuration with every default filled in but those that depend on something else. */
export type CompleteConfig = Omit<Complete<typeof configSchema>, 'clusters' | 'plans' | 'network'> &
  Pick<EngineConfig, 'clusters' | 'plans' | 'network'>

/** What holds where a configuration says nothing. */
export function withDefaults(config: EngineConfig): CompleteConfig {
  return Value.Default(configSchema, structuredClone(config)) as CompleteConfig
}

/**
 * Checks a configuration, from a file or from code, and fills in what the parts of it leave out.
 *
 * @param source what the value is, to begin the message with: a file name, say
 * @throws HoldfastError `CONFIG_INVALID` naming the field, such as `plans.team.pageLimit.max`, and unknown keys
 */
export function parseConfig(value: unknown, source: string): EngineConfig {
  const fail = (path: string, problem: string): never => {
    throw new HoldfastError('CONFIG_INVALID', [source, path, problem].filter(part => part !== '').join(': '))
  }
  if (!Value.Check(configSchema, value)) {
    const { path, problem } = backendProblem(value) ?? firstProblem(configSchema, value)
    return fail(path, problem)
  }
  const unkept = unkeptIn(value, '')
  if (unkept !== null) return fail(unkept, UNKEPT)
  const { clusters: _, plans: __, ...rest } = value
  const config: EngineConfig = { ...rest, ...completeClusters(value), ...completePlans(value) }
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

type Fail = (path: string, problem: string) => never

function completeClusters({ clusters }: RawConfig): Pick<EngineConfig, 'clusters'> {
  if (clusters === undefined) return {}
  return { clusters: clusters.map(given => ({ label: given.id, region: '', country: null, gateways: [], ...given })) }
}

function completePlans({ plans }: RawConfig): Pick<EngineConfig, 'plans'> {
  if (plans === undefined) return {}
  return { plans: Object.fromEntries(Object.entries(plans).map(([name, plan]) => [name, completePlan(plan)])) }
}

function completePlan(plan: RawPlan): Plans[string] {
  return Value.Default(planSchema, { ...plan }) as Complete<typeof planSchema>
}

function checkGateway({ gateway = {} }: EngineConfig, fail: Fail): void {
  const { mode = 'own', allow } = gateway
  if (mode === 'allow-list' && allow === undefined) fail('gateway.allow', 'is needed by the mode allow-list')
  if (mode !== 'allow-list' && allow !== undefined) fail('gateway.allow', 'belongs to the mode allow-list')
  allow?.forEach((cid, i) => {
    try {
      parseCid(cid)
    } catch {
      fail(`gateway.allow.${i}`, 'is not a valid content identifier')
    }
  })
}

function checkUrls(config: EngineConfig, fail: Fail): void {
  const check = (path: string, value: string | undefined): void => {
    if (value === undefined) return
    const url = URL.canParse(value) ? new URL(value) : null
    if (url === null || !/^https?:$/.test(url.protocol)) fail(path, 'must be an http or https URL')
    else if (/[?#]/.test(value) || url.username !== '' || url.password !== '') {
      fail(path, 'must be a URL without query, fragment or credentials')
    }
  }
  check('publicUrl', config.publicUrl)
  check('gateway.publicUrl', config.gateway?.publicUrl)
  check('node.url', config.node?.url)
  config.clusters?.forEach((cluster, i) => {
    const path = `clusters.${i}.backend`
    if (cluster.backend?.type === 'holdfast') {
      check(`${path}.url`, cluster.backend.url)
      check(`${path}.gateway`, cluster.backend.gateway)
    } else if (cluster.backend !== undefined) {
      check(`${path}.api`, cluster.backend.api)
      cluster.backend.gateways?.forEach((gateway, j) => {
        check(`${path}.gateways.${j}`, gateway)
      })
    }
    cluster.gateways.forEach((gateway, j) => {
      check(`clusters.${i}.gateways.${j}.publicUrl`, gateway.publicUrl)
      check(`clusters.${i}.gateways.${j}.url`, gateway.url)
    })
  })
}

function checkClusters(config: EngineConfig, fail: Fail): void {
  const ids = clusterIds(config)
  ids.forEach((id, i) => {
    if (ids.indexOf(id) !== i) fail(`clusters.${i}.id`, `${id} is there twice`)
  })
  config.clusters?.forEach(({ backend, dataDir, alsoIn = [] }, i) => {
    if (alsoIn.length > 0 && (backend !== undefined || dataDir === undefined)) {
      fail(`clusters.${i}.alsoIn`, 'belongs to a cluster with a dataDir and without a backend')
    }
    if (backend === undefined) return
    const path = `clusters.${i}.backend`
    if (backend.type === 'holdfast' && (backend.keyFile === undefined) === (backend.keyEnv === undefined)) {
      fail(path, 'needs either keyFile or keyEnv')
    }
    if (backend.type !== 'holdfast' && backend.authFile !== undefined && backend.authEnv !== undefined) {
      fail(path, 'has both authFile and authEnv')
    }
    if (backend.type === 'ipfs-cluster') checkReplication(backend, path, fail)
    const unkept = uncheckable(config.reconcile?.everyHours, backend.localGraceSeconds)
    if (unkept !== null) fail(`${path}.localGraceSeconds`, unkept)
    const place = backendPlace(backend)
    const first = config.clusters?.find(other => other.backend && backendPlace(other.backend) === place)
    // They are one: what of it is here is kept in one way.
    const isSame = isDeepStrictEqual([backend, dataDir], [first?.backend, first?.dataDir])
    if (!isSame) fail(path, `names the same place as that of ${first?.id}, and has to be the same in everything`)
  })
  const fallback = config.defaultCluster ?? DEFAULT_CLUSTER
  if (ids.includes(fallback)) return
  if (config.defaultCluster !== undefined) fail('defaultCluster', `${fallback} is not among the clusters`)
  fail('defaultCluster', `is needed, because ${fallback} is not among the clusters`)
}

function checkNode({ node, clusters = knownClusters, database }: EngineConfig, fail: Fail): void {
  if (node !== undefined && database === undefined) fail('node', 'belongs to a database that several nodes share')
  clusters.forEach((cluster, i) => {
    if (node === undefined && cluster.node !== undefined)
      fail(`clusters.${i}.node`, 'needs node, which says who this is')
    if (node !== undefined && cluster.node === undefined) fail('clusters', `${cluster.id} has to name its node`)
  })
}

function checkReplication(
  { replicationMin: min, replicationMax: max }: IpfsClusterBackendDefinition,
  path: string,
  fail: Fail,
): void {
  if (max === undefined) return
  if (min === undefined) throw fail(`${path}.replicationMax`, 'belongs to replicationMin')
  if (max < 0 !== min < 0) fail(`${path}.replicationMax`, 'must be -1 where replicationMin is, and only there')
  if (max < min) fail(`${path}.replicationMax`, `must not be under replicationMin, ${min}`)
}

function checkPlans(config: EngineConfig, fail: Fail): void {
  const ids = clusterIds(config)
  for (const [name, plan] of Object.entries(config.plans ?? {})) {
    const path = `plans.${name}`
    if (!/^[\w.-]{1,64}$/.test(name)) fail(path, 'a plan is named with up to 64 of the characters A-Z a-z 0-9 _ . -')
    const { clusters, pageLimit } = plan
    const unknown = clusters === '*' ? undefined : clusters.find(id => !ids.includes(id))
    if (unknown !== undefined) fail(`${path}.clusters`, `${unknown} is not among the clusters`)
    if (pageLimit.default > pageLimit.max) fail(`${path}.pageLimit.default`, `must not be over max, ${pageLimit.max}`)
  }
  const known = [...builtInPlans.map(plan => plan.name), ...Object.keys(config.plans ?? {})]
  const { plan } = config.signup ?? {}
  if (plan !== undefined && !known.includes(plan)) fail('signup.plan', `must be one of ${known.join(', ')}`)
}

function clusterIds(config: EngineConfig): string[] {
  return (config.clusters ?? knownClusters).map(cluster => cluster.id)
}

interface Problem {
  path: string
  problem: string
}

/** What is wrong with a backend as one of its type; null if nothing is. */
function backendProblem(value: unknown): Problem | null {
  const { clusters } = Object(value) as { clusters?: unknown }
  for (const [i, cluster] of (Array.isArray(clusters) ? (clusters as unknown[]) : []).entries()) {
    const { backend } = Object(cluster) as { backend?: unknown }
    if (typeof backend !== 'object' || backend === null) continue
    const { type } = backend as { type?: unknown }
    const schema = Object.entries(backendSchemas).find(([name]) => name === type)?.[1]
    const path = `clusters.${i}.backend`
    if (schema === undefined) {
      return { path: `${path}.type`, problem: `must be one of ${Object.keys(backendSchemas).join(', ')}` }
    }
    if (Value.Check(schema, backend)) continue
    const { path: field, problem } = firstProblem(schema, backend)
    return { path: field === '' ? path : `${path}.${field}`, problem }
  }
  return null
}

/** The first thing that is wrong, the deepest where a choice of shapes failed as a whole. */
function firstProblem(schema: TSchema, value: unknown): Problem {
  const errors = Value.Errors(schema, value)
  const unknown = errors.find(error => error.keyword === 'additionalProperties')
  if (unknown?.keyword === 'additionalProperties') {
    const keys = unknown.params.additionalProperties
    return {
      path: dotted(unknown.instancePath),
      problem: `unknown ${keys.length > 1 ? 'keys' : 'key'} ${keys.join(', ')}`,
    }
  }
  const missing = errors.find(error => error.keyword === 'required')
  if (missing?.keyword === 'required') {
    return { path: dotted(missing.instancePath), problem: `${missing.params.requiredProperties.join(', ')} missing` }
  }
  const deepest = [...errors].sort((a, b) => depth(b.instancePath) - depth(a.instancePath))[0]
  if (deepest === undefined) return { path: '', problem: 'is not a valid configuration' }
  const here = errors.filter(error => error.instancePath === deepest.instancePath)
  const constant = here.find(error => error.keyword === 'const')
  const alternatives = here
    .filter(error => error.keyword !== 'anyOf' && error.schemaPath !== constant?.schemaPath)
    .map(error => error.message)
  if (constant?.keyword === 'const') alternatives.unshift(`must be ${JSON.stringify(constant.params.allowedValue)}`)
  return { path: dotted(deepest.instancePath), problem: [...new Set(alternatives)].join(' or ') || deepest.message }
}

function depth(instancePath: string): number {
  return instancePath.split('/').length
}

function dotted(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map(segment => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')
}
