import type { CoreCatalogue } from '../catalogue.ts'
import { accountRules } from './account-rules.ts'
import type { CatalogueDriver } from './driver.ts'
import { egressRules } from './egress-rules.ts'
import { identityRules } from './identity-rules.ts'
import { keyRules } from './key-rules.ts'
import { type ClearSecrets, secondFactorRules } from './second-factor-rules.ts'
import { sessionRules } from './session-rules.ts'

/** Runs rules that other rooms declare. */
export interface RuleHost {
  driver: CatalogueDriver
  /** Name of the node, for leases of jobs. */
  node: string
}

export type AccessStores = Pick<
  CoreCatalogue,
  'accounts' | 'identities' | 'keys' | 'sessions' | 'secondFactors' | 'egress'
> & { rules: RuleHost }

export function accessStores(driver: CatalogueDriver, clear: ClearSecrets, node: string): AccessStores {
  return {
    accounts: accountRules(driver),
    identities: identityRules(driver),
    keys: keyRules(driver),
    sessions: sessionRules(driver),
    secondFactors: secondFactorRules(driver, clear),
    egress: egressRules(driver),
    rules: { driver, node },
  }
}
