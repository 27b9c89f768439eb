import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans, type Plan } from '../domain/plan.ts'

/** Applies if the account's own plan is no longer configured. */
const FALLBACK = 'free'

/** A configured plan replaces the built-in plan of the same name. */
export class PlanCatalogue {
  readonly #plans = new Map<string, Plan>()

  constructor(configured: Readonly<Record<string, Omit<Plan, 'name'>>> = {}) {
    for (const plan of builtInPlans) this.#plans.set(plan.name, plan)
    for (const [name, plan] of Object.entries(configured)) this.#plans.set(name, { ...plan, name })
  }

  has(name: string): boolean {
    return this.#plans.has(name)
  }

  /** Falls back to the plan `free`, so that accounts whose plan was removed continue to work. */
  get(name: string): Plan {
    const plan = this.#plans.get(name) ?? this.#plans.get(FALLBACK)
    if (plan === undefined) throw new HoldfastError('INTERNAL_ERROR', `there is no plan ${FALLBACK}`)
    return plan
  }

  /** Lists the built-in plans first. */
  names(): string[] {
    return [...this.#plans.keys()]
  }

  check(name: string): void {
    if (this.has(name)) return
    throw new HoldfastError('VALIDATION', `plan must be one of ${this.names().join(', ')}`)
  }
}
