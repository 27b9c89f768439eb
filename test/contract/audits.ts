import { jobAudits } from '../features/bulk/audits-jobs.ts' // feature: bulk
import { urlAudits } from '../features/url-uploads/audits-urls.ts' // feature: url-uploads
import { webhookAudits } from '../features/webhooks/audits-webhooks.ts' // feature: webhooks
import { accessAudits } from './audits-access.ts'
import { authAudits } from './audits-auth.ts'
import { carAudits } from './audits-car.ts'
import { consoleKeyAudits } from './audits-console-keys.ts'
import { dialectAudits } from './audits-dialects.ts'
import { directoryAudits } from './audits-directory.ts'
import { keyAudits } from './audits-keys.ts'
import { limitAudits } from './audits-limits.ts'
import { listAudits } from './audits-lists.ts'
import { mannerAudits } from './audits-manners.ts'
import { nodeAudits } from './audits-nodes.ts'
import { offerAudits } from './audits-offers.ts'
import { passwordLinkAudits } from './audits-password-links.ts'
import { pinAudits } from './audits-pins.ts'
import { planAudits } from './audits-plans.ts'
import { proofAudits } from './audits-proof.ts'
import { providerAudits } from './audits-provider.ts'
import { secondFactorAudits } from './audits-second-factor.ts'
import { statusAudits } from './audits-status.ts'
import { textAudits } from './audits-texts.ts'
import { uploadTokenAudits } from './audits-upload-tokens.ts'
import { uploadAudits } from './audits-uploads.ts'
import { visibilityAudits } from './audits-visibility.ts'
import type { Audit } from './world.ts'

/** The contract as data: checks that every way of serving an engine must pass. */
export const audits: readonly Audit[] = [
  ...mannerAudits,
  ...accessAudits,
  ...limitAudits,
  ...keyAudits,
  ...consoleKeyAudits,
  ...proofAudits,
  ...webhookAudits, // feature: webhooks
  ...authAudits,
  ...secondFactorAudits,
  ...passwordLinkAudits,
  ...providerAudits,
  ...uploadAudits,
  ...uploadTokenAudits,
  ...planAudits,
  ...directoryAudits,
  ...carAudits,
  ...pinAudits,
  ...listAudits,
  ...visibilityAudits,
  ...jobAudits, // feature: bulk
  ...urlAudits, // feature: url-uploads
  ...offerAudits,
  ...nodeAudits,
  ...statusAudits,
  ...dialectAudits,
  ...textAudits,
]
