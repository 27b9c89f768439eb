import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans, DEFAULT_MAX_KEYS, DEFAULT_MAX_QUEUED_PINS, type Plan, type PlanOptions } from '../domain/plan.ts'

/** What applies to an account whose plan is no longer configured. */
const FALLBACK = 'free'

/** The plans of an engine: the built-in ones and those of its configuration, which win. */
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
   * The plan that holds for an account on the plan `name`. A plan that has gone from the configuration gives way to
   * `free`, so that its accounts keep working within modest limits.
   */
  get(name: string): Plan {
    const plan = this.#plans.get(name) ?? this.#plans.get(FALLBACK)
    if (plan === undefined) throw new HoldfastError('INTERNAL_ERROR', `no plan is called ${FALLBACK}`)
    return plan
  }

  /** Built-in plans first. */
  names(): string[] {
    return [...this.#plans.keys()]
  }

  /** @throws HoldfastError `VALIDATION` naming the known plans, unless `name` is one. */
  check(name: string): void {
    if (this.has(name)) return
    throw new HoldfastError('VALIDATION', `plan must be one of ${this.names().join(', ')}`)
  }
}
