// The declarations have statements of their own.
import '../../src/features/feature-list.ts'
import type { RuleHost } from '../../src/catalogue/rules/access-stores.ts'
import { auditRules } from '../../src/features/audit/audit-rules.ts' // feature: audit
import { webhookRules } from '../../src/features/webhooks/webhook-rules.ts' // feature: webhooks

/** Returns the stores of features, whose rules the driver of a catalogue runs. */
export function featureStores(rules: RuleHost) {
  return {
    audit: auditRules(rules), // feature: audit
    webhooks: webhookRules(rules), // feature: webhooks
  }
}
