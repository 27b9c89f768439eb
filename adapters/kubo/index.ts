import type { BackendAdapter } from '../../src/clusters/backend-adapter.ts'
import { kuboKind } from './definition.ts'
import type { KuboBackendDefinition } from './options.ts'

export type { KuboBackendDefinition } from './options.ts'

/**
 * The adapter for clusters on a Kubo node. Pass it to an engine: `createEngine({ adapters: [kubo] })`.
 *
 * @example const engine = await createEngine({ dataDir: '/data', adapters: [kubo] })
 */
export const kubo: BackendAdapter<KuboBackendDefinition> = {
  ...kuboKind,
  open: async (clusterId, definition, means) => {
    const { openKubo } = await import('./open-kubo.ts')
    return openKubo(clusterId, definition, means)
  },
}
