import { LevelDatastore } from 'datastore-level'
import { systemClock } from '../../../../src/domain/clock.ts'
import { silentLogger } from '../../../../src/domain/logger.ts'
import { startNetwork } from '../../../../src/network/network-node.ts'
import { randomFile } from './dags.ts'
import { ScriptedBlocks } from './provider.ts'

/**
 * A provider in its own process. Arguments: directory, number of leaves, their size, seed, and the maximum number of
 * blocks to send.
 */
const [dir = '', count = '0', size = '0', seed = '', most = ''] = process.argv.slice(2)
const blocks = new ScriptedBlocks(randomFile(Number(count), Number(size), seed).blocks)
if (most !== '') blocks.hangAfter(Number(most))
const datastore = new LevelDatastore(dir)
await datastore.open()
const node = await startNetwork({ config: {}, blocks, datastore, clock: systemClock, logger: silentLogger })
process.stdout.write(`${node.addresses()[0]}\n`)
process.stdin.resume()
