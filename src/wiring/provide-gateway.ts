import { join } from 'node:path'
import type { CID } from 'multiformats/cid'
import type { EngineOptions } from '../api.ts'
import { nodeFileSystem } from '../disk/file-system.ts'
import { identityOf } from '../domain/cid.ts'
import type { EngineConfig } from '../domain/options.ts'
import { createGateway, openerOf } from '../gateway/gateway.ts'
import { Takedowns } from '../gateway/policy/takedowns.ts'
import { ContentReader } from '../gateway/reader/content-reader.ts'
import { observed } from '../http/observed.ts'
import { OwnedContent } from '../pins/owned-content.ts'
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
  const dependenciesOf = (p: Parts) => ({
    content: p.get(T.liveContent),
    clock: p.get(T.clock),
    logger: p.get(T.logger),
    options: gateway,
    takedowns: p.get(T.takedowns),
    arrivalOf: (cid: CID) => arrivalOf(p, cid),
    fetcher: p.get(T.network).fetcher,
  })
  parts.provide(T.rootOpener, p => openerOf(dependenciesOf(p)))
  parts.provide(T.gateway, p => {
    const handler = createGateway({ ...dependenciesOf(p), opener: p.get(T.rootOpener) })
    return observed(handler, p.get(T.metrics), p.get(T.clock))
  })
  parts.provide(T.contentReader, p => {
    const owned = new OwnedContent(p.get(T.content).records, p.get(T.heldRoots), p.get(T.clock))
    return new ContentReader({
      opener: p.get(T.rootOpener),
      isOwned: async (account, cid, signal) => {
        await p.get(T.accounts).get(account)
        return owned.has(account, cid, signal)
      },
      activity: p.get(T.activity),
      clock: p.get(T.clock),
    })
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
