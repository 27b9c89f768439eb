import type { BackendAdapter } from '../../src/index.ts'
import { holdfast } from '../holdfast/index.ts'
import { ipfsCluster } from '../ipfs-cluster/index.ts'
import { kubo } from '../kubo/index.ts'

/** Every adapter of the server: a configuration may name each as the `backend` of a cluster. */
export const clusterAdapters: readonly BackendAdapter[] = [holdfast, kubo, ipfsCluster]
