import type { Plan } from '../domain/plan.ts'
import { jsonResponse } from '../http/json-response.ts'
import type { AuthenticatedContext } from '../http/route.ts'
import type { ApiResponse } from '../http/types.ts'
import type { Pins, Plans } from './services.ts'

/** The plans of the node, to be read. Its operator decides which account has which. */
export class PlanRoutes {
  readonly #plans: Plans
  readonly #pins: Pins

  constructor(plans: Plans, pins: Pins) {
    this.#plans = plans
    this.#pins = pins
  }

  /** GET /plans: an array at the top level. */
  list = (): ApiResponse =>
    jsonResponse(
      200,
      this.#plans.names().map(name => presentPlan(this.#plans.get(name))),
    )

  /** GET /plans/my-plan. */
  own = async ({ principal }: AuthenticatedContext): Promise<ApiResponse> =>
    jsonResponse(200, { ...presentPlan(principal.plan), usage: await this.#pins.usage(principal.account.id) })

  /** GET /users/me/plans: an array of the one plan. */
  ofUser = ({ principal }: AuthenticatedContext): ApiResponse => jsonResponse(200, [presentPlan(principal.plan)])
}

function presentPlan(plan: Plan): object {
  return { id: plan.name, ...plan }
}
