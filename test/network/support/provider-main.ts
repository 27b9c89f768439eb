import { LevelDatastore } from 'datastore-level'
import { systemClock } from '../../../src/domain/clock.ts'
import { silentLogger } from '../../../src/domain/logger.ts'
import { startNetwork } from '../../../src/network/network-node.ts'
import { hostOf, someBlocks } from './blocks.ts'

/** Runs a node as its own process. Prints its address and serves the blocks that its arguments describe. */
const [dir = '', count = '0', size = '0', seed = '', hangsAfter = ''] = process.argv.slice(2)
const blocks = hostOf(someBlocks(Number(count), Number(size), seed))
let served = 0
const datastore = new LevelDatastore(dir)
await datastore.open()
const node = await startNetwork({
  config: {},
  blocks: {
    has: blocks.has,
    get: cid => (hangsAfter !== '' && ++served > Number(hangsAfter) ? new Promise(() => undefined) : blocks.get(cid)),
  },
  datastore,
  clock: systemClock,
  logger: silentLogger,
})
process.stdout.write(`${node.addresses()[0]}\n`)
process.stdin.resume().on('end', async () => {
  await node.stop()
  await datastore.close()
})
