import type { Catalogue } from '../catalogue.ts'
import { accountRules } from './account-rules.ts'
import { auditRules } from './audit-rules.ts'
import type { CatalogueDriver } from './driver.ts'
import { egressRules } from './egress-rules.ts'
import { identityRules } from './identity-rules.ts'
import { keyRules } from './key-rules.ts'
import { type ClearSecrets, secondFactorRules } from './second-factor-rules.ts'
import { sessionRules } from './session-rules.ts'
import { webhookRules } from './webhook-rules.ts'

export type AccessStores = Pick<
  Catalogue,
  'accounts' | 'identities' | 'keys' | 'sessions' | 'secondFactors' | 'webhooks' | 'egress' | 'audit'
>

export function accessStores(driver: CatalogueDriver, clear: ClearSecrets, node: string): AccessStores {
  return {
    accounts: accountRules(driver),
    identities: identityRules(driver),
    keys: keyRules(driver),
    sessions: sessionRules(driver),
    secondFactors: secondFactorRules(driver, clear),
    webhooks: webhookRules(driver, node),
    egress: egressRules(driver),
    audit: auditRules(driver),
  }
}
