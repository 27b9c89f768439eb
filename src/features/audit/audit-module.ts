import { ADMIN_PATH } from '../../contract/routes.ts'
import type { FeatureModule } from '../feature.ts'
import type { AuditServices } from './audit-export.ts'
import { AuditLog } from './audit-log.ts'
import { auditRoutes } from './audit-routes.ts'
import { auditRules } from './audit-rules.ts'

export const auditModule: FeatureModule<AuditServices> = {
  routes: [{ base: ADMIN_PATH, before: null, routes: auditRoutes }],
  make: ({ clock, logger, config, rules }) => {
    const log = new AuditLog({ store: auditRules(rules), clock, logger, retention: config.audit })
    return {
      services: { audit: log },
      audits: log,
      start: async () => log.start(),
      stop: () => log.stop(),
    }
  },
}
