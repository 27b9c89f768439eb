import type { BackendAdapter } from '../../src/clusters/backend-adapter.ts'
import { holdfastKind } from './definition.ts'
import type { HoldfastBackendDefinition } from './options.ts'

export type { HoldfastBackendDefinition } from './options.ts'

/**
 * The adapter for clusters on another Holdfast. Pass it to an engine: `createEngine({ adapters: [holdfast] })`.
 *
 * @example const engine = await createEngine({ dataDir: '/data', adapters: [holdfast] })
 */
export const holdfast: BackendAdapter<HoldfastBackendDefinition> = {
  ...holdfastKind,
  open: async (clusterId, definition, means) => {
    const { openHoldfast } = await import('./open-holdfast.ts')
    return openHoldfast(clusterId, definition, means)
  },
}
