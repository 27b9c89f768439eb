import { dueTime } from '../catalogue/rules/job-rules.ts'
import { unsettled } from '../concurrency/woken-work.ts'
import type { AddedRoutes } from '../contract/routes.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { CoreParts, Feature, FeatureParts, LoadedFeature } from '../features/feature.ts'
import { features } from '../features/feature-list.ts'
import type { AuditSink } from '../http/audited-request.ts'
import type { ApiDependencies } from '../http/pipeline.ts'
import { DueLoad } from '../jobs/due-load.ts'
import { LaterModule } from './later-module.ts'
import { ownAccountOf } from './own-account.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { UndoModule } from './undo-module.ts'

export type FeaturesModule = ReturnType<typeof makeFeatures>

/** Additions of the features to the API. */
export interface LoadedFeatures {
  added: readonly AddedRoutes[]
  /** Null records nothing. */
  audit: AuditSink | null
  errorAt: NonNullable<ApiDependencies['errorAt']>
}

type Running = ReturnType<LoadedFeature['make']>

type Below = Pick<PinModules, 'storage' | 'access' | 'clusters' | 'pins'> & { undo: UndoModule }

/** Creates the features, whose modules are loaded by the API, by a call, or when their work is due. */
export function makeFeatures(setup: Setup, below: Below) {
  const { clock, logger, metrics, config } = setup
  const { storage, pins, undo } = below
  const { rules, sealing } = storage
  const parts: FeatureParts = { clock, logger, metrics, config, sealing, rules, core: coreParts(setup, below) }
  const all = features.map(feature => {
    const module = new LaterModule<Running>(async () => (await feature.load()).make(parts))
    const load = dueLoad(feature, module, parts)
    const wake = (): void => (module.made?.wake ?? (() => load.wake()))()
    return { module, feature, load, wake }
  })
  const wake = (): void => {
    undo.wake()
    for (const { feature, wake } of all) if (feature.due !== undefined) wake()
  }
  const changing = all.find(({ feature }) => feature.changesMany === true)?.module
  return {
    /** Loads all features for the API. */
    load: async (): Promise<LoadedFeatures> => {
      const running = await Promise.all(all.map(({ module }) => module.load()))
      const added = running.flatMap(({ routes }) => routes)
      const converters = running.flatMap(({ errorAt }) => errorAt ?? [])
      return {
        added,
        audit: running.find(({ audits }) => audits !== undefined)?.audits ?? null,
        errorAt: (path, response) => converters.reduce((converted, convert) => convert(path, converted), response),
      }
    },
    // feature: bulk
    /** Loads the calls of `engine.jobs`. */
    jobs: async () => (await changing?.load())?.jobs ?? refuse(),
    // end
    /** Looks for due work of all features, and for changes of many records. */
    wake,
    start: async (): Promise<void> => {
      if (changing !== undefined) undo.stepsFrom(async () => (await changing.load()).changes ?? refuse())
      for (const { feature, wake } of all) if (feature.due?.followsRecords === true) pins.changes.wakes({ wake })
      wake()
    },
    unsettled: () => unsettled(all.map(({ load, module }) => module.made ?? load)),
    stop: async (): Promise<void> => {
      await undo.stopChanges()
      await Promise.all(all.map(({ load }) => load.stop()))
      await Promise.all(all.map(({ module }) => module.stop()))
    },
  }
}

function coreParts(setup: Setup, { storage, access, clusters, pins, undo }: Below): CoreParts {
  const { bulk, records, fetches } = storage.catalogue
  const { changes, visibility, targets, scheduler, backendOf, wakeSweeper } = pins
  return {
    bulk,
    records,
    fetches,
    accounts: access.accounts,
    plans: access.plans,
    clusters: clusters.registry,
    targets,
    changes,
    visibility,
    activity: setup.activity,
    ownAccount: ownAccountOf(setup, access),
    limitsOf: undo.limitsOf,
    backendOf,
    leaveFetch: fetchId => scheduler.left(fetchId),
    wakeFetches: () => scheduler.wake(),
    wakeSweeper,
    wakeChanges: undo.wake,
  }
}

function refuse(): never {
  throw new HoldfastError('INTERNAL_ERROR', 'a feature lacks what it declares')
}

function dueLoad({ name, due }: Feature, module: LaterModule<Running>, parts: FeatureParts): DueLoad {
  const { rules, config, clock, logger } = parts
  const at = due?.at ?? (async () => null)
  return new DueLoad({
    name,
    dueAt: () => (typeof at === 'string' ? dueTime(rules, at, '') : at(rules, config)),
    load: async () => (await module.load()).wake?.(),
    clock,
    logger,
  })
}
