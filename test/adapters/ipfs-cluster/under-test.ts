import { IpfsClusterApi } from '../../../adapters/ipfs-cluster/ipfs-cluster-api.ts'
import { IpfsClusterBackend } from '../../../adapters/ipfs-cluster/ipfs-cluster-backend.ts'
import { GatewaysReader } from '../../../adapters/remote/gateways-reader.ts'
import { type HttpClient, openHttpClient } from '../../../adapters/remote/http-client.ts'
import { type Clock, systemClock } from '../../../src/domain/clock.ts'
import { GatewayClient } from '../../../src/outgoing/gateway-client.ts'
import { type BackendUnderTest, keptFromOutside } from '../../clusters/backend.suite.ts'
import { until } from '../../clusters/remote-support.ts'
import { AUTHORIZATION } from '../../support/ipfs-cluster.ts'
import type { Reached } from './reached.ts'

const MARK = 'holdfast:test'

/** A client with some false answers. */
export type Lies = (right: HttpClient) => Pick<HttpClient, 'send' | 'stream'>

/** Runs with a backend on the cluster, and lets the test inspect one of its peers. */
export async function withBackend(
  { api: url, gateway, rpc }: Reached,
  run: (under: BackendUnderTest & { backend: IpfsClusterBackend }) => Promise<void>,
  { lies = right => right, clock = systemClock }: { lies?: Lies; clock?: Clock } = {},
): Promise<void> {
  const http = openHttpClient()
  const gateways = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  const there = { url, authorization: AUTHORIZATION, clock }
  const right = new IpfsClusterApi({ ...there, http })
  const api = new IpfsClusterApi({ ...there, http: lies(http) })
  const backend = new IpfsClusterBackend({
    ...{ api, mark: MARK, replication: { min: 3, max: 3 }, clock },
    ...{ addresses: () => [], reader: new GatewaysReader([new URL(gateway)], gateways, clock) },
  })
  const ask = async (command: string): Promise<string> => {
    const answer = await http.send({
      ...{ method: 'POST', url: `${rpc}/api/v0/${command}`, headers: {}, signal: new AbortController().signal },
    })
    if (answer.status !== 200) throw new Error(`${command}: ${answer.status} ${answer.text}`)
    return answer.text
  }
  const pinned = async (): Promise<string[]> => {
    return Object.keys((JSON.parse(await ask('pin/ls?type=recursive')) as { Keys?: object }).Keys ?? {})
  }
  const blocks = async (): Promise<string[]> => (await ask('refs/local')).split('\n').filter(line => line !== '')
  try {
    const begun = { pins: await pinned(), blocks: await blocks() }
    await run({
      ...keptFromOutside(backend),
      backend,
      collect: async () => {
        const wished: string[] = []
        await until('its Kubo pins what the cluster does', async () => {
          wished.length = 0
          for await (const { cid } of right.pins(new AbortController().signal)) wished.push(cid)
          return (await pinned()).sort().join() === [...begun.pins, ...wished].sort().join()
        })
        await ask('repo/gc?quiet=true')
        // Each pin has a mark block besides those of its root.
        return (await blocks()).filter(cid => !begun.blocks.includes(cid)).length - wished.length
      },
    })
  } finally {
    const ever = new AbortController().signal
    for await (const { cid } of right.pins(ever)) await right.unpin(cid, ever)
    await Promise.all([http.close(), gateways.close()])
  }
}
