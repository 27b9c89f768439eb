import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import type { EngineOptions } from '../api.ts'
import { nodeFileSystem } from '../disk/file-system.ts'
import { identityOf } from '../domain/cid.ts'
import type { EngineConfig } from '../domain/options.ts'
import { createGateway } from '../gateway/gateway.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import { observed } from '../http/observed.ts'
import type { Parts } from './container.ts'
import { T } from './tokens.ts'

/** What serves `/ipfs/`. Needs content, fetches and the network. */
export function provideGateway(
  parts: Parts,
  { gateway = {} }: EngineConfig,
  { dataDir, fileSystem = nodeFileSystem }: Pick<EngineOptions, 'dataDir' | 'fileSystem'>,
): void {
  parts.provide(T.takedowns, p =>
    Takedowns.open(join(dataDir, 'takedowns.deny'), { fileSystem, clock: p.get(T.clock), logger: p.get(T.logger) }),
  )
  parts.provide(T.gateway, p => {
    const handler = createGateway({
      content: p.get(T.liveContent),
      clock: p.get(T.clock),
      logger: p.get(T.logger),
      options: gateway,
      takedowns: p.get(T.takedowns),
      arrivalOf: cid => arrivalOf(p, cid),
      fetcher: p.get(T.network).fetcher,
    })
    return observed(handler, p.get(T.metrics), p.get(T.clock))
  })
}

/** What has come of content that a fetch is bringing; null if none is, or none will be tried again. */
async function arrivalOf(parts: Parts, cid: CID): Promise<{ blocks: number; bytes: number } | null> {
  for (const { id } of parts.get(T.clusters).backends) {
    const fetch = await parts.get(T.content).fetches.find(id, identityOf(cid))
    if (fetch === undefined) continue
    const attempt = parts.get(T.fetchScheduler).attempt(fetch.id)
    if (attempt !== undefined) return attempt.totals
    if (fetch.nextAttemptAt !== null) return { blocks: 0, bytes: 0 }
  }
  return null
}
