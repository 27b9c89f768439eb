import type { AccountService } from '../access/accounts/account-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { Account } from '../catalogue/account-store.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import { checkedVisibility, type Visibility } from '../domain/visibility.ts'
import { PUBLIC } from '../ledger/possessor.ts'
import type { DecidedTarget, Requester } from './decided-pin.ts'
import type { PinTarget } from './pin-types.ts'
import type { Timelock } from './removal/timelock.ts'

interface Parts {
  accounts: AccountService
  plans: PlanCatalogue
  clusters: ClusterRegistry
  timelock: Timelock
  clock: Clock
}

export class PinTargets {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws HoldfastError `VALIDATION` without an id, `NOT_FOUND` for an unknown id */
  async requester(accountId: string | undefined): Promise<Requester> {
    if (typeof accountId !== 'string') throw new HoldfastError('VALIDATION', 'account must be the id of an account')
    const account = await this.#parts.accounts.owned(accountId)
    return { account, plan: this.#parts.plans.get(account.plan) }
  }

  /**
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`, `UNAVAILABLE`; `VALIDATION`
   * for an unknown visibility; `NOT_OFFERED` for private content in a cluster that serves to everybody
   */
  decide({ account, plan }: Requester, target: PinTarget): DecidedTarget {
    const { clusters, timelock, clock } = this.#parts
    const clusterId = clusters.choose(plan, target.cluster?.trim(), account.defaultCluster)
    if (target.fromNode === true && clusters.isExternal(clusterId)) {
      const reason = 'a node does not forward content that it keeps for another node'
      throw new HoldfastError('CLUSTER_NOT_ALLOWED', `cl names a cluster on another system: ${reason}`)
    }
    // Do not check the default cluster yet. A later form field may name another cluster.
    if (target.cluster !== undefined && clusters.nodeOf(clusterId) === null) clusters.checkPresent(clusterId)
    const visibility = this.#visibility(clusterId, account, target.visibility)
    const expiresAt = timelock.decide(target.timelock, plan, clock.now())
    const number = numberOf(account)
    const owner = visibility === 'public' ? PUBLIC : number
    // Nobody publishes private content by mistake: the request must ask for it, with the right to do so.
    const isShared = owner === PUBLIC && !!target.visibility
    const isOpen = target.adopts === 'public' || (isShared && target.adopts === 'own') || clusters.isExternal(clusterId)
    const possessor = isOpen ? PUBLIC : number
    return { clusterId, owner, possessor, ownerOfPrivate: isShared ? PUBLIC : number, expiresAt }
  }

  /**
   * Returns the owner of a record that gets another visibility. The plan may have lost the cluster since.
   *
   * @throws HoldfastError `VALIDATION`; `NOT_OFFERED` for private content in a cluster that serves to everybody
   */
  ownerOf({ account }: Requester, clusterId: string, visibility: string): number {
    return this.#visibility(clusterId, account, visibility) === 'public' ? PUBLIC : numberOf(account)
  }

  #visibility(clusterId: string, account: Account, asked: string | undefined): Visibility {
    const visibility = asked ? checkedVisibility(asked) : account.defaultVisibility
    if (visibility === 'public' || !this.#parts.clusters.isExternal(clusterId)) return visibility
    const message = `visibility must be "public" in ${clusterId}: the system that keeps this cluster serves to everybody`
    throw new HoldfastError('NOT_OFFERED', message)
  }
}

function numberOf({ id, owner }: Account): number {
  if (owner !== null) return owner
  throw new HoldfastError('INTERNAL_ERROR', `the account ${id} has no number`)
}
