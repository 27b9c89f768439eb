import type { Account } from '../access/principal.ts'
import { presentUser } from './presenters.ts'
import type { Clusters, Pins, Plans, SecondFactors } from './services.ts'

/** An account as its holder sees it. */
export class AccountView {
  readonly #pins: Pins
  readonly #clusters: Clusters
  readonly #plans: Plans
  readonly #secondFactor: SecondFactors

  constructor(pins: Pins, clusters: Clusters, plans: Plans, secondFactor: SecondFactors) {
    this.#pins = pins
    this.#clusters = clusters
    this.#plans = plans
    this.#secondFactor = secondFactor
  }

  async of(account: Account): Promise<object> {
    const plan = this.#plans.get(account.plan)
    return {
      ...presentUser(account, plan, this.#clusters.allowed(plan).length, await this.#pins.usage(account.id)),
      twoFactorEnabled: await this.#secondFactor.isEnabled(account.id),
    }
  }
}
