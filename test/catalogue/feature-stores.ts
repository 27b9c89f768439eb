import type { RuleHost } from '../../src/catalogue/rules/access-stores.ts'
import { webhookRules } from '../../src/features/webhooks/webhook-rules.ts'

/** Returns the stores of features, whose rules the driver of a catalogue runs. */
export function featureStores(rules: RuleHost) {
  return { webhooks: webhookRules(rules) }
}
