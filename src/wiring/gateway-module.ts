import type { CID } from 'multiformats/cid'
import { PAYING_ROOTS } from '../catalogue/egress.ts'
import { MemoryBudget } from '../concurrency/capacity/memory-budget.ts'
import { followRevisions } from '../content/revision-log.ts'
import type { Clock } from '../domain/clock.ts'
import { isHoldfastError } from '../domain/errors.ts'
import { featureAnswers, withFeatures } from '../features/gateway-list.ts'
import { createGateway, gatewaySlots, openerOf } from '../gateway/gateway.ts'
import { Egress } from '../gateway/policy/account-egress.ts'
import { EgressCap, type PaidContent } from '../gateway/policy/egress-cap.ts'
import { ContentReader } from '../gateway/reader/content-reader.ts'
import type { ApartGateway } from '../gateway/site/documents-apart.ts'
import { type GatewayStatus, withReadiness } from '../gateway/site/readiness.ts'
import type { OwnerOf } from '../gateway/source/own-reader.ts'
import { behindProxies } from '../http/proxies.ts'
import { identityOf } from '../ipld/cid.ts'
import { Possessor, PUBLIC } from '../ledger/possessor.ts'
import { OwnedContent } from '../pins/owned-content.ts'
import type { LaterModule } from './later-module.ts'
import { loaders } from './loaders.ts'
import { gatewayWithin, memoryShares } from './memory-shares.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { SignInModule } from './sign-in-module.ts'
import type { TakedownsModule } from './takedowns-module.ts'

export type GatewayModule = Awaited<ReturnType<typeof makeGateway>>

const INVALID = new Set<string>(['INVALID_API_KEY', 'account_disabled', 'IP_NOT_ALLOWED'])

interface Below extends PinModules {
  takedowns: LaterModule<TakedownsModule>
  signIn: LaterModule<SignInModule>
  apart: ApartGateway
}

/** Applies the same rules to the gateway and to the content reader for the host program. */
export async function makeGateway(setup: Setup, below: Below) {
  const { config, clock, logger, metrics, activity, memoryBytes } = setup
  const { takedowns, revisions, wake: wakeWalks } = await below.takedowns.load()
  const network = below.network.node
  const answers = await featureAnswers({
    options: config.gateway,
    datastore: below.storage.datastore,
    network,
    loadIdentity: loaders.peerIdentity,
  })
  const shares = memoryShares(memoryBytes)
  const memory = MemoryBudget.of(shares.answers, clock)
  const options = gatewayWithin(shares, config)
  const dependencies = {
    memory,
    content: below.clusters.live,
    clock,
    logger,
    options,
    takedowns: takedowns.list,
    revision: revisions,
    arrivalOf: (cid: CID) => arrivalOf(below, cid),
    fetcher: below.network.node,
    others: below.nodes.member?.content ?? null,
  }
  const opener = openerOf(dependencies)
  const follower = revisions.follow(null)
  void followRevisions(follower.next, () => opener.decide())
  below.pins.visibility.announceBy(() => {
    revisions.publish()
    wakeWalks()
    return revisions.settled()
  })
  const owned = new OwnedContent(below.storage.catalogue.records, below.storage.heldRoots, clock)
  const reader = new ContentReader({
    opener,
    ownerOf: async (id, cid, signal) => {
      const account = await below.access.accounts.get(id)
      return (await owned.has(account, cid, signal)) ? (account.owner ?? PUBLIC) : null
    },
    activity,
    clock,
  })
  const { holds, catalogue } = below.storage
  const holdOf = (rootId: number) => holds.ofRoot(rootId, { ends: clock.now(), id: '' }, 1)[0]?.id ?? null
  const { plans } = below.access
  const mostOf = (plan: string) => plans.get(plan).maxEgressBytes
  const rootsOf = ({ cid, rootId }: PaidContent) =>
    below.storage.heldRoots.payingRoots(cid.multihash.bytes, rootId, clock.now(), PAYING_ROOTS)
  const egress = new Egress({ store: catalogue.egress, holdOf, rootsOf, mostOf, clock, logger, metrics })
  const isCapped = plans.names().some(plan => mostOf(plan) !== null)
  const cap = isCapped ? new EgressCap(clock, content => egress.payersOf(content)) : null
  const slots = gatewaySlots(options, clock, memory)
  const parts = { ...dependencies, metrics, opener, slots, egress: egress.tally, cap }
  // Only the handler on the API's origin, where clients send credentials.
  const handler = createGateway({ ...parts, apart: below.apart, ownerOf: ownerOf(below, clock) })
  const own = createGateway({ ...parts, options: { ...options, ownOrigin: true } })
  /** Returns the readiness for a load balancer that asks. */
  const readiness = (): GatewayStatus => {
    const status = gatewayStatus(setup, below.storage)
    setup.probes.answered('gateway', status === 'ok')
    return status
  }
  const featured = withFeatures(withReadiness(own, readiness, config.gateway.host ?? null), {
    served: (cid, signal) => opener.served(cid, signal),
    ask: async question => answers[question]?.(null as never, new AbortController().signal),
    slots,
    options,
    clock,
    logger,
    metrics,
  })
  const behind = behindProxies(config.trustedProxies, logger)
  return {
    options,
    memory,
    takedowns,
    revisions,
    egress,
    cap,
    stop: () => {
      follower.end()
      return egress.stop()
    },
    arrivalOf: dependencies.arrivalOf,
    reader,
    handler,
    gateway: behind(handler),
    /** Reads what trusted proxies say. All handlers share it, so it logs an unknown proxy once. */
    behind,
    ownGateway: behind(featured),
    answers,
    readiness,
  }
}

/** Returns the reading of accounts by their credentials. A request without a credential loads nothing. */
function ownerOf({ access, signIn, storage }: Below, clock: Clock): OwnerOf {
  const hasOwn = async (multihash: Uint8Array, by: Possessor): Promise<boolean> => {
    if (storage.heldRoots.hasOwn(multihash, by)) return true
    // Another node may have the content.
    const places = storage.shared?.fleet ? await storage.shared.places.find(multihash, by) : []
    return places.some(({ owner }) => owner === by.owner)
  }
  return async (request, cid) => {
    const { authenticator, limits } = await signIn.load()
    const principal = await authenticator.authenticate(request).catch((error: unknown) => {
      if (isHoldfastError(error, 'INVALID_API_KEY')) limits.takeFailure(request.remoteAddress)
      return nobody(error)
    })
    if (principal === null || access.scopes.adoption(principal) === 'public') return null
    const { owner } = await access.accounts.get(principal.account.id)
    return owner !== null && (await hasOwn(cid.multihash.bytes, new Possessor(owner, clock))) ? owner : null
  }
}

/** Returns null for an invalid credential: its sender gets the same answers as a stranger. Throws any other error. */
function nobody(error: unknown): null {
  if (isHoldfastError(error) && INVALID.has(error.code)) return null
  throw error
}

/** Stays `ok` without the database, because this node's content needs none. */
function gatewayStatus({ ending }: Setup, { shared, isStorageGone }: Below['storage']): GatewayStatus {
  if (ending.isAnnounced) return 'stopping'
  if (shared?.changes.health.problem === 'no-claim') return 'no-claim'
  return isStorageGone() ? 'no-storage' : 'ok'
}

/** Returns null if the CID is not being fetched. */
async function arrivalOf(
  { storage, clusters, pins }: Below,
  cid: CID,
): Promise<{ blocks: number; bytes: number } | null> {
  for (const { id } of clusters.registry.backends) {
    const fetch = await storage.catalogue.fetches.find(id, identityOf(cid), PUBLIC)
    if (fetch === undefined) continue
    const attempt = pins.scheduler.attempt(fetch.id)
    if (attempt !== undefined) return attempt.totals
    if (fetch.nextAttemptAt !== null) return { blocks: 0, bytes: 0 }
  }
  return null
}
