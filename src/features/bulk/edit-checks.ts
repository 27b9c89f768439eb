import type { BulkAction } from '../../catalogue/bulk-changes.ts'
import type { BulkEdit } from '../../catalogue/bulk-edits.ts'
import type { ClusterRegistry } from '../../clusters/cluster-registry.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { checkedVisibility } from '../../domain/visibility.ts'
import { checkedText } from '../../pins/pin-names.ts'
import type { PinTargets } from '../../pins/pin-targets.ts'

/** The fields of a request that say how a job changes its records. */
export interface EditRequest {
  account: string
  action: BulkAction
  /** For `rename`. Empty texts change nothing. */
  rename?: Partial<Record<'find' | 'replace' | 'prefix' | 'suffix', string>> | undefined
  /** For `timelock`: a date-time, or `never` for no expiry. */
  timelock?: string | Date | undefined
  /** For `cluster`. */
  cluster?: string | undefined
  /** For `visibility`. */
  visibility?: string | undefined
}

export interface BulkEditParts {
  targets: PinTargets
  clusters: Pick<ClusterRegistry, 'sharing'>
}

/** Value of `timelock` that removes the expiry. The contract reads null and an empty text as absent. */
const NEVER = 'never'

/** Checks how a job edits its records, before the job is stored. */
export class BulkEdits {
  readonly #parts: BulkEditParts

  constructor(parts: BulkEditParts) {
    this.#parts = parts
  }

  /** @throws HoldfastError `VALIDATION`, `INVALID_TIMELOCK`, `TIMELOCK_NOT_ALLOWED`, `CLUSTER_NOT_ALLOWED`, `UNAVAILABLE` */
  async of({ account, action, rename, timelock, cluster, visibility }: EditRequest): Promise<BulkEdit> {
    const requester = await this.#parts.targets.requester(account)
    if (action === 'rename') return { rename: checkedRename(rename ?? {}) }
    if (action === 'timelock') {
      if (timelock === NEVER) return { expiresAt: null }
      const { expiresAt } = this.#parts.targets.decide(requester, { timelock })
      if (expiresAt === null) throw missing('timelock', `a date-time, or ${NEVER} for no expiry`)
      return { expiresAt }
    }
    if (action === 'visibility') return { visibility: checkedVisibility(visibility) }
    if (cluster === undefined || cluster.trim() === '') throw missing('cluster', 'the id of a cluster')
    const to = this.#parts.targets.decide(requester, { cluster }).clusterId
    // Records move between clusters of one system, because the content stays where it is.
    return { cluster: { to, from: this.#parts.clusters.sharing(to) } }
  }
}

function checkedRename(given: NonNullable<EditRequest['rename']>): NonNullable<BulkEdit['rename']> {
  const text = (field: keyof typeof given): string => checkedText(`rename.${field}`, given[field])
  const rename = { find: text('find'), replace: text('replace'), prefix: text('prefix'), suffix: text('suffix') }
  if (`${rename.find}${rename.prefix}${rename.suffix}` !== '') return rename
  throw missing('rename', 'find, prefix or suffix')
}

function missing(field: string, what: string): HoldfastError {
  return new HoldfastError('VALIDATION', `${field} must have ${what}`)
}
