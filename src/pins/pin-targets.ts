import type { AccountService } from '../access/accounts/account-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Clock } from '../domain/clock.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { DecidedTarget, PinTarget, Requester } from './pin-types.ts'
import type { Timelock } from './removal/timelock.ts'

interface Parts {
  accounts: AccountService
  plans: PlanCatalogue
  clusters: ClusterRegistry
  timelock: Timelock
  clock: Clock
}

/** Who asks for a pin, and where and until when it is to be kept. */
export class PinTargets {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws HoldfastError `VALIDATION` without an account, `NOT_FOUND` for an unknown one */
  async requester(accountId: string | undefined): Promise<Requester> {
    if (typeof accountId !== 'string') throw new HoldfastError('VALIDATION', 'account must be the id of an account')
    const account = await this.#parts.accounts.get(accountId)
    return { account, plan: this.#parts.plans.get(account.plan) }
  }

  /** @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`, `UNAVAILABLE` */
  decide({ account, plan }: Requester, target: PinTarget): DecidedTarget {
    const { clusters, timelock, clock } = this.#parts
    const clusterId = clusters.choose(plan, target.cluster?.trim(), account.defaultCluster)
    if (target.fromNode === true && clusters.isElsewhere(clusterId)) {
      const reason = 'what a node keeps for another goes no further'
      throw new HoldfastError('CLUSTER_NOT_ALLOWED', `cl names a cluster that is kept elsewhere: ${reason}`)
    }
    // Without a name the form may still bring one.
    if (target.cluster !== undefined && clusters.nodeOf(clusterId) === null) clusters.checkPresent(clusterId)
    return { clusterId, expiresAt: timelock.decide(target.timelock, plan, clock.now()) }
  }
}
