import type { AccessModule } from './access-module.ts'
import type { ClustersModule } from './clusters-module.ts'
import type { ContentModule } from './content-module.ts'
import type { NetworkModule } from './network-module.ts'
import type { NodesModule } from './nodes-module.ts'
import type { StorageModule } from './storage-module.ts'

/** Modules that most others use. */
export interface BaseModules {
  storage: StorageModule
  access: AccessModule
  content: ContentModule
  clusters: ClustersModule
  network: NetworkModule
  nodes: NodesModule
}
