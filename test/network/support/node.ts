import { join } from 'node:path'
import { LevelDatastore } from 'datastore-level'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { type NetworkNode, type NetworkOptions, startNetwork } from '../../../src/network/network-node.ts'
import { withTempDir } from '../../support/temp-dir.ts'
import { hostOf } from './blocks.ts'

/** A node in this process, on a datastore in `dir`. */
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
      // All nodes of these tests are on loopback.
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

/** Nodes in this process, the first of which is there before the options of the next are made. */
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
