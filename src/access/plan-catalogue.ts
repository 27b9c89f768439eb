import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans, DEFAULT_MAX_KEYS, DEFAULT_MAX_QUEUED_PINS, type Plan, type PlanOptions } from '../domain/plan.ts'

/** Plan of an account whose own plan is no longer configured. */
const FALLBACK = 'free'

/** The plans of an engine. A configured plan replaces a built-in plan of the same name. */
export class PlanCatalogue {
  readonly #plans = new Map<string, Plan>()

  constructor(configured: Readonly<Record<string, PlanOptions>> = {}) {
    for (const plan of builtInPlans) this.#plans.set(plan.name, plan)
    for (const [name, plan] of Object.entries(configured))
      this.#plans.set(name, {
        maxKeys: DEFAULT_MAX_KEYS,
        maxQueuedPins: DEFAULT_MAX_QUEUED_PINS,
        serverImport: true,
        ...plan,
        name,
      })
  }

  has(name: string): boolean {
    return this.#plans.has(name)
  }

  /**
   * Returns the plan `name`, or `free` if there is no such plan. So accounts on a removed plan keep working within
   * modest limits.
   */
  get(name: string): Plan {
    const plan = this.#plans.get(name) ?? this.#plans.get(FALLBACK)
    if (plan === undefined) throw new HoldfastError('INTERNAL_ERROR', `there is no plan ${FALLBACK}`)
    return plan
  }

  /** Returns the names of all plans, built-in plans first. */
  names(): string[] {
    return [...this.#plans.keys()]
  }

  /** @throws HoldfastError `VALIDATION` with the names of all plans, if `name` is not one of them */
  check(name: string): void {
    if (this.has(name)) return
    throw new HoldfastError('VALIDATION', `plan must be one of ${this.names().join(', ')}`)
  }
}
