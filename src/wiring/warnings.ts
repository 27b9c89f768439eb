import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import { DEFAULT_SIGN_UP_PLAN } from '../access/sign-up.ts'
import type { Logger } from '../domain/logger.ts'
import type { EngineConfig } from '../domain/options.ts'

/** Logs what a configuration allows that its operator may not have meant. */
export function warnOfConfiguration(
  { signup = {} }: EngineConfig,
  { plans, importRoots, logger }: { plans: PlanCatalogue; importRoots: readonly string[]; logger: Logger },
): void {
  const { enabled = false, plan = DEFAULT_SIGN_UP_PLAN } = signup
  if (!enabled || importRoots.length === 0 || !plans.get(plan).serverImport) return
  const mend = 'set "serverImport": false in that plan, or "importRoots": []'
  logger.warn({ plan, importRoots }, `anybody may sign up, and then read all that is in the import roots: ${mend}`)
}
