import type { EngineOptions } from '../../src/index.ts'
import { holdfast } from '../holdfast/index.ts'
import { ipfsCluster } from '../ipfs-cluster/index.ts'
import { kubo } from '../kubo/index.ts'
import { oidc } from '../oidc/index.ts'
import { postgres } from '../postgres/index.ts'

/** Adapters that the server supports. An adapter loads its code only if a configuration names it. */
export const serverAdapters: Required<Pick<EngineOptions, 'adapters' | 'catalogue' | 'signIn'>> = {
  adapters: [holdfast, kubo, ipfsCluster],
  catalogue: postgres,
  signIn: oidc,
}
