import { HoldfastError } from '../domain/errors.ts'
import { builtInPlans, type Plan } from '../domain/plan.ts'

/** Applies if the account's own plan is no longer configured. */
const FALLBACK = 'free'
/** Maximum number of clusters that a refusal names. */
const MOST_NAMED = 10
const LONGEST_YEARS = 100

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

export function allowsCluster(plan: Pick<Plan, 'clusters'>, clusterId: string): boolean {
  return plan.clusters === '*' || plan.clusters.includes(clusterId)
}

/**
 * @param configured ids of all clusters, in configured order
 * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, with the same message for an unknown and a forbidden cluster
 */
export function checkCluster(
  clusterId: string,
  plan: Pick<Plan, 'name' | 'clusters'>,
  configured: readonly string[],
): void {
  const allowed = configured.filter(id => allowsCluster(plan, id))
  if (allowed.includes(clusterId)) return
  const problem = `cl names a cluster that the plan ${plan.name} does not allow`
  const remedy = allowed.length === 0 ? 'change the plan' : `choose one of ${allowed.slice(0, MOST_NAMED).join(', ')}`
  throw new HoldfastError('CLUSTER_NOT_ALLOWED', `${problem}: ${remedy}`)
}

/**
 * @param instant expiry of a record, in ms since the epoch
 * @throws HoldfastError `INVALID_TIMELOCK` unless the expiry is within the next 100 years; `TIMELOCK_NOT_ALLOWED` if
 * the plan does not allow timelocks
 */
export function checkTimelock(instant: number, plan: Pick<Plan, 'name' | 'timelock'>, now: number): void {
  if (instant <= now) throw invalidTimelock('is in the past')
  if (instant > yearsAfter(now, LONGEST_YEARS)) throw invalidTimelock(`is over ${LONGEST_YEARS} years away`)
  if (!plan.timelock) {
    throw new HoldfastError('TIMELOCK_NOT_ALLOWED', `timelock is not part of the plan ${plan.name}`)
  }
}

export function invalidTimelock(reason: string): HoldfastError {
  return new HoldfastError('INVALID_TIMELOCK', `timelock ${reason}`)
}

function yearsAfter(now: number, years: number): number {
  const date = new Date(now)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}
