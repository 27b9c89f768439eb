import { clusterKinds } from './cluster.ts'
import { kuboKinds } from './kubo.ts'
import type { ServiceKind } from './service.ts'

/** Returns all other services that are installed. */
export function contenders(): ServiceKind[] {
  return [...kuboKinds(), ...clusterKinds()]
}
