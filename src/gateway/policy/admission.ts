import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH, parseCid } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { BlockedStatus, Denylist } from './denylist.ts'
import type { DenylistFile } from './denylist-file.ts'

export interface AdmissionOptions {
  /** CIDs that requests may name as the root. Null allows all pinned content. */
  allow: readonly string[] | null
  denylist: DenylistFile | null
  takedowns: TakenDown
}

/** Changes apply immediately, even to responses that are being sent. */
export interface TakenDown {
  readonly denylist: Denylist | null
}

export class Admission {
  readonly #allowed: ReadonlySet<string> | null
  readonly #denylist: DenylistFile | null
  readonly #takedowns: TakenDown

  /** @throws HoldfastError `INVALID_CID` if the allow list contains an invalid CID */
  constructor({ allow, denylist, takedowns }: AdmissionOptions) {
    this.#allowed = allow === null ? null : new Set(allow.map(text => keyOf(parseCid(text, 'gateway.allow'))))
    this.#denylist = denylist
    this.#takedowns = takedowns
  }

  async rules(): Promise<AdmissionRules> {
    const denylist = this.#denylist === null ? null : await this.#denylist.current()
    return new AdmissionRules(this.#allowed, denylist, this.#takedowns)
  }
}

export class AdmissionRules {
  readonly #allowed: ReadonlySet<string> | null
  readonly #denylist: Denylist | null
  readonly #takedowns: TakenDown

  constructor(allowed: ReadonlySet<string> | null, denylist: Denylist | null, takedowns: TakenDown) {
    this.#allowed = allowed
    this.#denylist = denylist
    this.#takedowns = takedowns
  }

  /** Token that each added or lifted takedown replaces with another object. */
  get revision(): unknown {
    return this.#takedowns.denylist?.revision
  }

  /**
   * Checks the root of a request. The empty identity CID is always allowed, because clients probe with that CID.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if the allow list lacks the CID
   */
  checkRoot(cid: CID): void {
    const isProbe = cid.multihash.code === HASH.identity && cid.multihash.size === 0
    if (isProbe || this.#allowed === null || this.#allowed.has(keyOf(cid))) return
    throw new HoldfastError('CID_NOT_FOUND', `this gateway does not serve ${cid}`)
  }

  /**
   * Checks the content against the takedowns and the denylist.
   *
   * @param names text forms of the path below the CID; empty for the block itself
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if the content is blocked
   */
  checkBlocked(cid: CID, names: readonly string[] = []): void {
    let status: BlockedStatus | null = null
    for (const list of [this.#takedowns.denylist, this.#denylist]) {
      if (list !== null && !list.isEmpty) status ??= list.statusOf(cid, names)
    }
    if (status === null) return
    const message = `${formatContentPath(cid.toString(), names)} is blocked by the operator of this gateway`
    throw new HoldfastError(status === 451 ? 'LEGAL_REASONS' : 'GONE', message)
  }
}

function keyOf(cid: CID): string {
  return Buffer.from(cid.multihash.bytes).toString('latin1')
}
