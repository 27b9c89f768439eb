import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import type { Engine, EngineOptions } from '../../src/index.ts'
import { createEngine } from '../../src/index.ts'
import { newDirectory } from '../support/new-database.ts'
import { withTempDir } from '../support/temp-dir.ts'
import { OtherNode } from './other-node.ts'

/** A node with its own cluster `near`, and clusters `far` and `far-too`, which another node keeps as `cl1-eu`. */
export interface TwoNodes {
  here: Engine
  there: OtherNode
  account: string
  dir: string
  /** Restarts the node. */
  restart(options?: Partial<EngineOptions>): Promise<Engine>
  /** Starts another node with the same clusters on its own data directory. The caller stops it. */
  openAt(dataDir: string): Promise<Engine>
}

export interface TwoNodesOptions {
  cacheBytes?: number
  localGraceSeconds?: number
  options?: Partial<EngineOptions>
}

/** Repeats a check until it holds. */
export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 3_000; looks++) {
    if (await holds()) return
    await wait(10)
  }
  throw new Error(`it never came about: ${what}`)
}

export function withTwoNodes(
  run: (nodes: TwoNodes) => Promise<void>,
  { cacheBytes = 0, localGraceSeconds = 0, options = {} }: TwoNodesOptions = {},
): Promise<void> {
  return withTempDir(async dir => {
    await using there = await new OtherNode(join(dir, 'there')).start()
    const cluster = { label: '', region: '', country: null, gateways: [] }
    const far = { type: 'holdfast' as const, url: there.url, cluster: 'cl1-eu', keyEnv: 'FAR_KEY' }
    const backend = { ...far, cacheBytes, localGraceSeconds }
    const clusters = [
      { ...cluster, id: 'near' },
      { ...cluster, id: 'far', backend },
      // The same system under another cluster id.
      { ...cluster, id: 'far-too', backend },
    ]
    const open = (changed: Partial<EngineOptions> = {}): Promise<Engine> =>
      createEngine({
        ...serverAdapters,
        ...{
          dataDir: newDirectory(join(dir, 'here')),
          clusters,
          defaultCluster: 'near',
          environment: { FAR_KEY: there.key },
        },
        ...options,
        ...changed,
      })
    const nodes: TwoNodes = {
      ...{ here: await open(), there, account: '', dir, openAt: (dataDir: string) => open({ dataDir }) },
      restart: async changed => {
        await nodes.here.stop()
        nodes.here = await open(changed)
        return nodes.here
      },
    }
    try {
      nodes.account = (await nodes.here.accounts.create({ email: 'a@example.org', plan: 'unlimited' })).id
      await run(nodes)
    } finally {
      await nodes.here.stop()
    }
  })
}

/** Returns the progress of the newest record of a CID. */
export async function statusOf({ here, account }: TwoNodes, cid: string): Promise<string> {
  return (await here.pins.status({ account, cid }))[0]?.record.status ?? 'none'
}
