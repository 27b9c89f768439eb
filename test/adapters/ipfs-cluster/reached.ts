import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { findIpfsCluster, IpfsCluster } from '../../support/ipfs-cluster.ts'
import { needs } from '../../support/needs.ts'
import { readExchanges, recordExchanges, replayExchanges, writeExchanges } from '../../support/recorded-exchanges.ts'
import { withTempDir } from '../../support/temp-dir.ts'

/** The addresses of an IPFS Cluster: its REST API, and the gateway and RPC API of one peer. */
export interface Reached {
  api: string
  gateway: string
  rpc: string
}

const FILE = join(import.meta.dirname, 'exchanges.jsonl')
const isRecording = process.env.HOLDFAST_RECORD === '1'
const programs = findIpfsCluster()

/** Options of tests on a real cluster, and of tests on recorded answers. */
export const onRealCluster = {
  timeout: 180_000,
  ...needs(programs !== null, 'HOLDFAST_TEST_IPFS_CLUSTER and HOLDFAST_TEST_IPFS do not name both programs'),
}
export const onRecorded = needs(!isRecording, 'exchanges are being recorded')

/** Starts a cluster of three peers for the tests of a file. Removes it after the last. */
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

/** Runs on a real cluster, and records the answers if the environment asks for it. */
export async function onReal({ first }: IpfsCluster, test: string, use: (reached: Reached) => Promise<void>) {
  const { api, gateway, rpcUrl: rpc } = first
  if (!isRecording) return use({ api, gateway, rpc })
  const serverOf = (path: string): string =>
    path.startsWith('/api/v0/') ? rpc : path.startsWith('/ipfs/') ? gateway : api
  await using recorder = await recordExchanges(serverOf)
  await use({ api: recorder.base, gateway: recorder.base, rpc: recorder.base })
  writeExchanges(FILE, test, recorder.exchanges)
}

/** Runs on the answers recorded for the same test. */
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
