import type { KeyStore } from '../../catalogue/key-store.ts'
import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { PinTarget, Requester, UploadToken } from '../pin-types.ts'

/** The uses of upload tokens that uploads under way have taken, beside those that are written down. */
export class UploadTokenUses {
  readonly #keys: Pick<KeyStore, 'uses'>
  /** By the token's id. */
  readonly #underWay = new Map<string, number>()

  constructor(keys: Pick<KeyStore, 'uses'>) {
    this.#keys = keys
  }

  /**
   * Keeps a use for an upload until it is given back, so that no bytes are taken that could not be committed. The commit
   * counts the use, and refuses one too many. Giving back twice does nothing.
   *
   * @throws HoldfastError `QUOTA_EXCEEDED` if all are taken, `INVALID_API_KEY` if the token is gone
   */
  async reserve({ id, maxUses }: UploadToken): Promise<() => void> {
    this.#add(id, 1)
    try {
      const uses = await this.#keys.uses(id)
      if (uses === null) throw new HoldfastError('INVALID_API_KEY', 'the upload token has been revoked')
      if (uses >= maxUses) throw new HoldfastError('QUOTA_EXCEEDED', 'the upload token has no use left')
      if (uses + (this.#underWay.get(id) ?? 0) > maxUses) {
        throw new HoldfastError('QUOTA_EXCEEDED', 'what is left of the upload token is taken by uploads under way')
      }
    } catch (error) {
      this.#add(id, -1)
      throw error
    }
    let isKept = true
    return () => {
      if (isKept) this.#add(id, -1)
      isKept = false
    }
  }

  #add(id: string, count: number): void {
    const underWay = (this.#underWay.get(id) ?? 0) + count
    if (underWay === 0) this.#underWay.delete(id)
    else this.#underWay.set(id, underWay)
  }
}

/** Who asks by an upload token may not send more than it allows. */
export function narrowed(requester: Requester, token: UploadToken | undefined): Requester {
  if (token === undefined || token.maxBytes === null) return requester
  const { maxBytes } = token
  const least = (limit: number | null): number => Math.min(limit ?? maxBytes, maxBytes)
  const { plan } = requester
  const narrow = { maxFileBytes: least(plan.maxFileBytes), maxDirectoryBytes: least(plan.maxDirectoryBytes) }
  return { ...requester, plan: { ...plan, ...narrow } }
}

/**
 * The target that an upload token fixes, whatever is asked for.
 *
 * @throws HoldfastError `CLUSTER_NOT_ALLOWED`, `TIMELOCK_NOT_ALLOWED` for what differs from it
 */
export function fixed<Target extends PinTarget>(target: Target, token: UploadToken | undefined): Target {
  if (token === undefined) return target
  const { cluster, timelock } = target
  const names = cluster?.trim() ?? ''
  if (names !== '' && names !== token.cluster) {
    throw new HoldfastError('CLUSTER_NOT_ALLOWED', 'cl: where uploads go is fixed by the upload token')
  }
  const isNone = timelock === undefined || (typeof timelock === 'string' && timelock.trim() === '')
  if (!isNone && instantOf(typeof timelock === 'string' ? timelock.trim() : timelock) !== token.timelock) {
    throw new HoldfastError('TIMELOCK_NOT_ALLOWED', 'timelock: when uploads expire is fixed by the upload token')
  }
  return {
    ...target,
    cluster: token.cluster ?? undefined,
    timelock: token.timelock === null ? undefined : new Date(token.timelock),
  }
}
