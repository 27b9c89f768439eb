import { auditRules, wrongAudit } from '../features/audit/audit-rules.ts' // feature: audit
import { webhookRules } from '../features/webhooks/webhook-rules.ts' // feature: webhooks
import { wrongWebhooks } from '../features/webhooks/webhooks-wrong.ts' // feature: webhooks
import type { ContentRule } from './content-support.ts'
import type { WrongCatalogue } from './content-wrong.ts'

/** Rules of the stores of features, which every catalogue must pass. */
export const featureRules: readonly ContentRule[] = [
  ...webhookRules, // feature: webhooks
  ...auditRules, // feature: audit
]

/** Stores of features with one fault each, and the rules that must detect it. */
export const wrongFeatures: readonly WrongCatalogue[] = [
  ...wrongWebhooks, // feature: webhooks
  ...wrongAudit, // feature: audit
]
