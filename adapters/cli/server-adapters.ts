import type { EngineOptions } from '../../src/index.ts'
import { postgres } from '../postgres/index.ts'
import { clusterAdapters } from './cluster-adapters.ts'

/** Adapters of the server, loaded only if a configuration names them. */
export const serverAdapters: Required<Pick<EngineOptions, 'adapters' | 'catalogue'>> = {
  adapters: clusterAdapters,
  catalogue: postgres,
}
