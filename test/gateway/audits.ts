import type { GatewayAudit } from './audit.ts'
import { attributeAudits } from './audits-attributes.ts'
import { directoryAudits } from './audits-directories.ts'
import { fileAudits } from './audits-files.ts'
import { formatAudits } from './audits-formats.ts'
import { mannerAudits } from './audits-manners.ts'
import { moreNameAudits, nameAudits } from './audits-names.ts'
import { rangeAudits } from './audits-ranges.ts'
import { requestAudits } from './audits-requests.ts'
import { siteAudits } from './audits-sites.ts'
import { typeAudits } from './audits-types.ts'

/** The gateway's requirements as data, checked on every adapter. */
export const audits: readonly GatewayAudit[] = [
  ...fileAudits,
  ...rangeAudits,
  ...directoryAudits,
  ...formatAudits,
  ...mannerAudits,
  ...requestAudits,
  ...siteAudits,
  ...typeAudits,
  ...attributeAudits,
  ...nameAudits,
  ...moreNameAudits,
]
