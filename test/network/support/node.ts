import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { type NetworkNode, type NetworkOptions, startNetwork } from '../../../src/network/network-node.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { hostOf } from './blocks.ts'

/** Runs a node in this process, with its datastore in `dir`. */
export async function withNode<T>(
  dir: string,
  options: Partial<NetworkOptions>,
  use: (node: NetworkNode) => Promise<T>,
): Promise<T> {
  const datastore = new LevelDatastore(join(dir, 'datastore'))
  await datastore.open()
  try {
    const node = await startNetwork({
      blocks: hostOf([]),
      clock: systemClock,
      logger: silentLogger,
      ...options,
      // All test nodes are on loopback.
      config: { allowPrivateGateways: true, ...options.config },
      datastore,
    })
    try {
      return await use(node)
    } finally {
      await node.stop()
    }
  } finally {
    await datastore.close()
  }
}

/** Runs nodes in this process. The options of each may use the nodes before it. */
export async function withNodes<T>(
  makers: ReadonlyArray<(earlier: readonly NetworkNode[]) => Partial<NetworkOptions>>,
  use: (...nodes: NetworkNode[]) => Promise<T>,
): Promise<T> {
  const start = (index: number, nodes: readonly NetworkNode[]): Promise<T> => {
    const maker = makers[index]
    if (maker === undefined) return use(...nodes)
    return withTempDir(dir => withNode(dir, maker(nodes), node => start(index + 1, [...nodes, node])))
  }
  return start(0, [])
}
