import { describe, test } from 'vitest'
import { backendRules } from '../../clusters/backend.suite.ts'
import { onReal, onRealCluster, onRecorded, onReplay, realCluster } from './reached.ts'
import { withBackend } from './under-test.ts'

describe('cluster backend: an IPFS Cluster, as a real one has answered', onRecorded, () => {
  test.each(backendRules)('$name', ({ name, run }) => onReplay(name, reached => withBackend(reached, run)))
})

describe('cluster backend: an IPFS Cluster of three peers', onRealCluster, () => {
  const cluster = realCluster()
  test.each(backendRules)('$name', ({ name, run }) => onReal(cluster(), name, reached => withBackend(reached, run)))
})
