import { clusterKinds } from './cluster.ts'
import { kuboKinds } from './kubo.ts'
import type { ServiceKind } from './service.ts'

export function contenders(): ServiceKind[] {
  return [...kuboKinds(), ...clusterKinds()]
}
