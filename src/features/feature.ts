import type { AccountService } from '../access/accounts/account-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { CoreCatalogue } from '../catalogue/catalogue.ts'
import type { PinLimits } from '../catalogue/records.ts'
import type { RuleHost } from '../catalogue/rules/access-stores.ts'
import type { JobName } from '../catalogue/rules/job-rules.ts'
import type { CatalogueTable } from '../catalogue/tables.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Activity } from '../concurrency/activity.ts'
import type { Settling } from '../concurrency/woken-work.ts'
import type { CompleteConfig } from '../config/config.ts'
import type { ContractRoute } from '../contract/contract-route.ts'
import type { AddedRoutes } from '../contract/routes.ts'
import type { Services } from '../contract/services.ts'
import type { Clock } from '../domain/clock.ts'
import type { Logger } from '../domain/logger.ts'
import type { Metrics } from '../domain/metrics.ts'
import type { Sealing } from '../domain/sealing.ts'
import type { AuditSink } from '../http/audited-request.ts'
import type { ApiDependencies } from '../http/pipeline.ts'
import type { PinChanges } from '../pins/pin-changes.ts'
import type { PinTargets } from '../pins/pin-targets.ts'
import type { ChangeSteps } from '../pins/removal/change-attempt.ts'
import type { OwnAccount } from '../pins/requesting-account.ts'
import type { VisibilityChanges } from '../pins/visibility-changes.ts'
import type { BulkJobs } from './bulk/bulk-jobs.ts' // feature: bulk

/** A feature without its module, as every engine knows it. */
export interface Declaration {
  /** Name of its room in `src/features`. */
  readonly name: string
  /** Its tables. Default: none. */
  readonly tables?: readonly CatalogueTable[]
  /** When the module has work although nothing calls it. Undefined for a feature that only answers requests. */
  readonly due?: {
    /** The kind of its jobs, or a function that returns when work is due, in ms since the epoch; null without work. */
    readonly at: JobName | ((rules: RuleHost, config: CompleteConfig) => Promise<number | null>)
    /** True if each change of a record may add work. */
    readonly followsRecords: boolean
  }
  /** True if the module carries out changes of many records. At most one feature does. */
  readonly changesMany?: boolean
}

/** A feature. The engine loads its module with the first request to the API, or when work is due. */
export interface Feature extends Declaration {
  load(): Promise<LoadedFeature>
}

/** Parts of the engine that a feature's module may use. */
export interface FeatureParts {
  clock: Clock
  logger: Logger
  metrics: Metrics
  config: CompleteConfig
  sealing: Sealing
  rules: RuleHost
  core: CoreParts
}

/** Parts of the core for features that select and change records. */
export interface CoreParts extends Pick<CoreCatalogue, 'bulk' | 'records' | 'fetches'> {
  accounts: Pick<AccountService, 'get'>
  plans: Pick<PlanCatalogue, 'get'>
  clusters: Pick<ClusterRegistry, 'sharing'>
  targets: PinTargets
  changes: PinChanges
  visibility: VisibilityChanges
  activity: Activity
  ownAccount: OwnAccount
  limitsOf(accountId: string): Promise<PinLimits>
  /** Returns null for a cluster that this node cannot fetch into. */
  backendOf(clusterId: string): number | null
  leaveFetch(fetchId: number): Promise<void>
  wakeFetches(): void
  wakeSweeper(): void
  /** Looks for due changes of many records. */
  wakeChanges(): void
}

/** A feature's module in one engine. */
export interface RunningFeature extends Partial<Settling> {
  /** Receives each action that a route audits. At most one feature has it. */
  audits?: AuditSink
  /** Converts an error response below a path of the feature. Other responses stay as they are. */
  errorAt?: ApiDependencies['errorAt']
  /** Carries out changes of many records that have not ended. */
  changes?: ChangeSteps
  // feature: bulk
  /** Calls of `engine.jobs`. */
  jobs?: BulkJobs
  // end
  /** Looks for due work. */
  wake?(): void
  start?(): Promise<void>
  stop?(): Promise<void>
}

/** The module of a feature. `Own` are the services that only its routes use. */
export interface FeatureModule<Own extends object> {
  readonly routes: ReadonlyArray<AddedRoutes<ContractRoute<Services & Own>>>
  make(parts: FeatureParts): RunningFeature & { readonly services: Own }
}

export interface LoadedFeature {
  /** The routes, for descriptions: their handlers refuse. */
  readonly routes: readonly AddedRoutes[]
  make(parts: FeatureParts): RunningFeature & { readonly routes: readonly AddedRoutes[] }
}

/** Returns a module whose routes other rooms can serve without knowing its services. */
export function loaded<Own extends object>({ routes, make }: FeatureModule<Own>): LoadedFeature {
  return {
    routes: bound(routes, () => {
      throw new Error('a description has no services')
    }),
    make: parts => {
      const { services, ...running } = make(parts)
      return { ...running, routes: bound(routes, () => services) }
    },
  }
}

function bound<Own extends object>(
  added: ReadonlyArray<AddedRoutes<ContractRoute<Services & Own>>>,
  own: () => Own,
): readonly AddedRoutes[] {
  const joined = new WeakMap<Services, Services & Own>()
  const withOwn = (services: Services): Services & Own => {
    const known = joined.get(services) ?? { ...services, ...own() }
    joined.set(services, known)
    return known
  }
  const routesOf = (routes: ReadonlyArray<ContractRoute<Services & Own>>): ContractRoute[] =>
    routes.map(route => ({ ...route, handler: (context, services) => route.handler(context, withOwn(services)) }))
  return added.map(group => ({ ...group, routes: routesOf(group.routes) }))
}
