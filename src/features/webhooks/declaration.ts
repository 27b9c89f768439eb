import { dueTime } from '../../catalogue/rules/job-rules.ts'
import type { Declaration } from '../feature.ts'

/** Webhooks: URLs that receive the events of an account's records. */
export const webhooks: Declaration = {
  name: 'webhooks',
  due: { at: rules => dueTime(rules, 'delivery', ''), followsRecords: true },
}
