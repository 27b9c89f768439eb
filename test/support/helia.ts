import type { HeliaWithLibp2p } from '@helia/libp2p'
import type { ServiceMap } from '@libp2p/interface'
import type { Engine } from '../../src/index.ts'

/** The node of an engine as the package has it that makes it; the public surface names less of it. */
export async function heliaOf(engine: Pick<Engine, 'helia'>): Promise<HeliaWithLibp2p<ServiceMap>> {
  return (await engine.helia()) as HeliaWithLibp2p<ServiceMap>
}

export async function libp2pOf(engine: Pick<Engine, 'helia'>): Promise<HeliaWithLibp2p<ServiceMap>['libp2p']> {
  return (await heliaOf(engine)).libp2p
}
