import type { EngineOptions } from '../../src/index.ts'
import { postgres } from '../postgres/index.ts'
import { clusterAdapters } from './cluster-adapters.ts'

/** Every adapter of the server. None is loaded before a configuration names it. */
export const serverAdapters: Required<Pick<EngineOptions, 'adapters' | 'catalogue'>> = {
  adapters: clusterAdapters,
  catalogue: postgres,
}
