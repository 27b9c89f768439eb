import type { CID } from 'multiformats/cid'
import { GatewaysReader } from '../../../src/clusters/gateways-reader.ts'
import { IpfsClusterApi } from '../../../src/clusters/ipfs-cluster/api.ts'
import { IpfsClusterBackend } from '../../../src/clusters/ipfs-cluster/ipfs-cluster-backend.ts'
import { identityOf } from '../../../src/domain/cid.ts'
import { systemClock } from '../../../src/domain/clock.ts'
import { openHttpClient, type SendHttp } from '../../../src/network/http-client.ts'
import { GatewayClient } from '../../../src/network/providers/gateway-client.ts'
import { AUTHORIZATION } from '../../support/ipfs-cluster.ts'
import { type BackendUnderTest, Outside } from '../backend.suite.ts'
import { until } from '../remote-support.ts'
import type { Reached } from './reached.ts'

const MARK = 'holdfast:test'

/** A backend of what is reached, with one of three peers under the eyes of the test. */
export async function withBackend(
  { api: url, gateway, rpc }: Reached,
  run: (under: BackendUnderTest & { backend: IpfsClusterBackend; api: IpfsClusterApi }) => Promise<void>,
  lies: (right: SendHttp) => SendHttp = right => right,
): Promise<void> {
  const http = openHttpClient()
  const gateways = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  const clock = systemClock
  const { stream } = http
  const api = new IpfsClusterApi({ url, authorization: AUTHORIZATION, http: { send: lies(http.send), stream }, clock })
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
      ...{ backend, api },
      keep: async content => {
        const source = new Outside()
        const root = await source.add(content)
        await backend.pin({ hold: 'record', root, source, origins: [], ends: null })
        return root
      },
      release: (root: CID) => backend.unpin('record', identityOf(root)),
      collect: async () => {
        const wished: string[] = []
        await until('its Kubo pins what the cluster does', async () => {
          wished.length = 0
          for await (const { cid } of api.pins(new AbortController().signal)) wished.push(cid)
          return (await pinned()).sort().join() === [...begun.pins, ...wished].sort().join()
        })
        await ask('repo/gc?quiet=true')
        // Each pin has a block of ours beside those of its root.
        return (await blocks()).filter(cid => !begun.blocks.includes(cid)).length - wished.length
      },
    })
  } finally {
    await Promise.all([http.close(), gateways.close()])
  }
}
