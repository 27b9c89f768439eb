import { findKubo } from '../../interop/kubo.ts'
import { findIpfsCluster } from '../../support/ipfs-cluster.ts'
import { IpfsClusterPlace } from './ipfs-cluster-place.ts'
import { KuboPlace } from './kubo-place.ts'
import type { Place } from './place.ts'

/**
 * Returns a function that starts a backend of this kind in a directory.
 *
 * @throws Error for an unknown kind, or if its programs are missing
 */
export function openPlace(kind: string): (home: string) => Promise<Place> {
  if (kind === 'kubo') {
    const binary = findKubo()
    if (binary === null) throw new Error('there is no "ipfs" on PATH, and HOLDFAST_TEST_IPFS names none')
    return home => KuboPlace.start(binary, home)
  }
  if (kind === 'ipfs-cluster') {
    const programs = findIpfsCluster()
    if (programs === null)
      throw new Error('HOLDFAST_TEST_IPFS_CLUSTER and HOLDFAST_TEST_IPFS do not name both programs')
    return home => IpfsClusterPlace.start(programs, home)
  }
  throw new Error(`--cluster ${kind}: a cluster is kept by holdfast, kubo or ipfs-cluster`)
}
