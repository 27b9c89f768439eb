import type { KeyStore } from '../../catalogue/key-store.ts'
import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError } from '../../domain/errors.ts'
import type { Requester } from '../decided-pin.ts'
import type { PinTarget, UploadToken } from '../pin-types.ts'

/** Counts the uses of upload tokens that running uploads have reserved. */
export class UploadTokenUses {
  readonly #keys: Pick<KeyStore, 'uses'>
  readonly #underWay = new Map<string, number>()

  constructor(keys: Pick<KeyStore, 'uses'>) {
    this.#keys = keys
  }

  /**
   * Reserves a use of a token. Returns a function that releases the use, once. The reservation only refuses uploads
   * early. The commit counts the use.
   * @throws HoldfastError `QUOTA_EXCEEDED` if no use is left; `INVALID_API_KEY` if the token no longer exists
   */
  async reserve({ id, maxUses }: UploadToken): Promise<() => void> {
    this.#add(id, 1)
    try {
      const uses = await this.#keys.uses(id)
      if (uses === null) throw new HoldfastError('INVALID_API_KEY', 'the upload token has been revoked')
      if (uses >= maxUses) throw new HoldfastError('QUOTA_EXCEEDED', 'the upload token has no use left')
      if (uses + (this.#underWay.get(id) ?? 0) > maxUses) {
        throw new HoldfastError('QUOTA_EXCEEDED', 'running uploads have reserved the last uses of the upload token')
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

/** Adds the size limit of the upload token to the requester's plan. */
export function narrowed(requester: Requester, token: UploadToken | undefined): Requester {
  if (token === undefined || token.maxBytes === null) return requester
  const { maxBytes } = token
  const least = (limit: number | null): number => Math.min(limit ?? maxBytes, maxBytes)
  const { plan } = requester
  const narrow = { maxFileBytes: least(plan.maxFileBytes), maxDirectoryBytes: least(plan.maxDirectoryBytes) }
  return { ...requester, plan: { ...plan, ...narrow } }
}

/**
 * @throws HoldfastError `CLUSTER_NOT_ALLOWED` or `TIMELOCK_NOT_ALLOWED` if the request asks for another cluster or
 * expiry than the token
 */
export function fixed<Target extends PinTarget>(target: Target, token: UploadToken | undefined): Target {
  if (token === undefined) return target
  const { cluster, timelock } = target
  const names = cluster?.trim() ?? ''
  if (names !== '' && names !== token.cluster) {
    throw new HoldfastError('CLUSTER_NOT_ALLOWED', 'cl: the upload token sets another cluster')
  }
  const isNone = timelock === undefined || (typeof timelock === 'string' && timelock.trim() === '')
  if (!isNone && instantOf(typeof timelock === 'string' ? timelock.trim() : timelock) !== token.timelock) {
    throw new HoldfastError('TIMELOCK_NOT_ALLOWED', 'timelock: the upload token sets another expiry')
  }
  return {
    ...target,
    // Account holders give tokens to strangers, who may learn nothing of private content.
    adopts: 'public',
    cluster: token.cluster ?? undefined,
    timelock: token.timelock === null ? undefined : new Date(token.timelock),
  }
}
