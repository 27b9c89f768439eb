import { Type } from 'typebox'
import { orNull } from '../../config/schema-parts.ts'
import { iso } from '../../domain/iso-instant.ts'
import { count, instant } from '../answer-fields.ts'
import { type ContractRoute, route } from '../contract-route.ts'

export const BackupStateView = Type.Object(
  {
    hasRoots: Type.Boolean({ description: 'false if the node knows no directory of backups' }),
    running: orNull(Type.Object({ blocks: count, bytes: count })),
    newestAt: orNull(instant),
  },
  { title: 'BackupState' },
)

const backups = route({
  access: 'owner',
  tag: 'The owner',
  method: 'GET',
  path: '/backups',
  summary: 'Show the running backup, and the age of the newest',
  details:
    '`{hasRoots, running, newestAt}`. The field `running` is `{blocks, bytes}` so far, or null. The field `newestAt` is the ' +
    'newest backup below `backupRoots`, up to a minute old, or null. The node does not know backups in other directories.',
  answers: { 200: BackupStateView },
  handler: async (_, services) => {
    const { newestAt, ...state } = await services.backups.state()
    return { status: 200, body: { ...state, newestAt: iso(newestAt) } }
  },
})

export const workRoutes: readonly ContractRoute[] = [backups]
