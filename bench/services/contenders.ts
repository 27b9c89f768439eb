import { clusterKinds } from './cluster.ts'
import { kuboKinds } from './kubo.ts'
import type { ServiceKind } from './service.ts'

/** The services of others that are on this machine. */
export function contenders(): ServiceKind[] {
  return [...kuboKinds(), ...clusterKinds()]
}
