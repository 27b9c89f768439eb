import type { HeliaWithLibp2p } from '@helia/libp2p'
import type { ServiceMap } from '@libp2p/interface'
import type { Engine } from '../../src/index.ts'

/** Returns the engine's Helia node with its full type, of which the public surface shows only a part. */
export async function heliaOf(engine: Pick<Engine, 'helia'>): Promise<HeliaWithLibp2p<ServiceMap>> {
  return (await engine.helia()) as HeliaWithLibp2p<ServiceMap>
}

export async function libp2pOf(engine: Pick<Engine, 'helia'>): Promise<HeliaWithLibp2p<ServiceMap>['libp2p']> {
  return (await heliaOf(engine)).libp2p
}
