import type { AddedRoutes } from '../contract/routes.ts'
import type { Feature, FeatureParts, LoadedFeature } from '../features/feature.ts'
import { features } from '../features/feature-list.ts'
import type { AuditSink } from '../http/audited-request.ts'
import type { ApiDependencies } from '../http/pipeline.ts'
import { DueLoad } from '../jobs/due-load.ts'
import { LaterModule } from './later-module.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type FeaturesModule = ReturnType<typeof makeFeatures>

/** Additions of the features to the API. */
export interface LoadedFeatures {
  added: readonly AddedRoutes[]
  /** Null records nothing. */
  audit: AuditSink | null
  errorAt: NonNullable<ApiDependencies['errorAt']>
}

type Running = ReturnType<LoadedFeature['make']>

/** Creates the features, whose modules are loaded by the API, or when their work is due. */
export function makeFeatures(
  { clock, logger, metrics, config }: Setup,
  { storage: { rules, sealing }, pins }: { storage: StorageModule; pins: PinsModule },
) {
  const parts: FeatureParts = { clock, logger, metrics, config, sealing, rules }
  const all = features.map(feature => {
    const module = new LaterModule<Running>(async () => (await feature.load()).make(parts))
    return { module, due: feature.due, load: dueLoad(feature, module, parts) }
  })
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
    start: async (): Promise<void> => {
      for (const { module, due, load } of all) {
        const wake = (): void => (module.made?.wake ?? (() => load.wake()))()
        if (due?.followsRecords === true) pins.changes.wakes({ wake })
        if (due !== undefined) wake()
      }
    },
    stop: async (): Promise<void> => {
      await Promise.all(all.map(({ load }) => load.stop()))
      await Promise.all(all.map(({ module }) => module.stop()))
    },
  }
}

function dueLoad({ name, due }: Feature, module: LaterModule<Running>, parts: FeatureParts): DueLoad {
  const { rules, config, clock, logger } = parts
  return new DueLoad({
    name,
    dueAt: async () => (await due?.at(rules, config)) ?? null,
    load: async () => (await module.load()).wake?.(),
    clock,
    logger,
  })
}
