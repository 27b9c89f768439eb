import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { findIpfsCluster, IpfsCluster } from '../../support/ipfs-cluster.ts'
import { needs } from '../../support/needs.ts'
import { readExchanges, recordExchanges, replayExchanges, writeExchanges } from '../../support/recorded-exchanges.ts'
import { withTempDir } from '../../support/temp-dir.ts'

/** Where an IPFS Cluster is reached: its REST API, and the gateway and the RPC of one of its peers. */
export interface Reached {
  api: string
  gateway: string
  rpc: string
}

const FILE = join(import.meta.dirname, 'exchanges.jsonl')
const isRecording = process.env.HOLDFAST_RECORD === '1'
const programs = findIpfsCluster()

/** Of tests that need a real one, and of those that do with what one has answered. */
export const onRealCluster = {
  timeout: 180_000,
  ...needs(programs !== null, 'HOLDFAST_TEST_IPFS_CLUSTER and HOLDFAST_TEST_IPFS do not name both programs'),
}
export const onRecorded = needs(!isRecording, 'exchanges are being recorded')

/** One of three peers, for all tests of a file; ended and removed after the last. */
export function realCluster(): () => IpfsCluster {
  let cluster: IpfsCluster | null = null
  let end = (): void => undefined
  let ended: Promise<void> = Promise.resolve()
  beforeAll(async () => {
    if (programs === null) return
    const { promise: isOver, resolve } = Promise.withResolvers<void>()
    end = resolve
    const { promise: isUp, resolve: up, reject } = Promise.withResolvers<void>()
    ended = withTempDir(async dir => {
      cluster = await IpfsCluster.start(programs, dir, 3)
      up()
      await isOver
      await cluster.stop()
    })
    ended.catch(reject)
    await isUp
  }, 120_000)
  afterAll(async () => {
    end()
    await ended
  }, 60_000)
  return () => {
    if (cluster === null) throw new Error('there is no IPFS Cluster')
    return cluster
  }
}

/** Through what notes all that passes, where that is asked for. */
export async function onReal({ first }: IpfsCluster, test: string, use: (reached: Reached) => Promise<void>) {
  const { api, gateway, rpcUrl: rpc } = first
  if (!isRecording) return use({ api, gateway, rpc })
  const serverOf = (path: string): string =>
    path.startsWith('/api/v0/') ? rpc : path.startsWith('/ipfs/') ? gateway : api
  await using recorder = await recordExchanges(serverOf)
  await use({ api: recorder.base, gateway: recorder.base, rpc: recorder.base })
  writeExchanges(FILE, test, recorder.exchanges)
}

/** With what a real one has answered in the same test. */
export async function onReplay(test: string, use: (reached: Reached) => Promise<void>): Promise<void> {
  const exchanges = readExchanges(FILE, test)
  if (exchanges.length === 0) throw new Error(`nothing was recorded of: ${test}`)
  await using replay = await replayExchanges(exchanges)
  try {
    await use({ api: replay.base, gateway: replay.base, rpc: replay.base })
  } catch (error) {
    if (replay.unknown.length === 0) throw error
    throw new Error(`never recorded: ${replay.unknown.join('; ')}`, { cause: error })
  }
  if (replay.unknown.length > 0) throw new Error(`never recorded: ${replay.unknown.join('; ')}`)
  if (replay.left().length > 0) throw new Error(`nobody asked: ${replay.left().join('; ')}`)
}
