import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH, parseCid } from '../../ipld/cid.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { BlockedStatus, Denylist } from './denylist.ts'
import type { DenylistFile } from './denylist-file.ts'

export interface AdmissionOptions {
  /** Only content asked for by one of these CIDs is served; null for all that is pinned. */
  allow: readonly string[] | null
  denylist: DenylistFile | null
  takedowns: TakenDown
}

/** What has been taken down here; it counts as soon as it is so, for answers under way, too. */
export interface TakenDown {
  readonly denylist: Denylist | null
}

/** Decides what may be served of what is here. */
export class Admission {
  readonly #allowed: ReadonlySet<string> | null
  readonly #denylist: DenylistFile | null
  readonly #takedowns: TakenDown

  /** @throws HoldfastError `INVALID_CID` for an allowed CID that is none. */
  constructor({ allow, denylist, takedowns }: AdmissionOptions) {
    this.#allowed = allow === null ? null : new Set(allow.map(text => keyOf(parseCid(text, 'gateway.allow'))))
    this.#denylist = denylist
    this.#takedowns = takedowns
  }

  /** The rules for one request. */
  async rules(): Promise<AdmissionRules> {
    const denylist = this.#denylist === null ? null : await this.#denylist.current()
    return new AdmissionRules(this.#allowed, denylist, this.#takedowns)
  }
}

/** The rules as they are during one request. */
export class AdmissionRules {
  readonly #allowed: ReadonlySet<string> | null
  readonly #denylist: Denylist | null
  readonly #takedowns: TakenDown

  constructor(allowed: ReadonlySet<string> | null, denylist: Denylist | null, takedowns: TakenDown) {
    this.#allowed = allowed
    this.#denylist = denylist
    this.#takedowns = takedowns
  }

  /** What is another object as soon as something has been taken down, or is served again. */
  get revision(): unknown {
    return this.#takedowns.denylist
  }

  /**
   * Checks the CID of a request. The empty identity CID, by which clients find out a trustless gateway, is always allowed.
   *
   * @throws HoldfastError `CID_NOT_FOUND` unless content may be asked for by this CID.
   */
  checkRoot(cid: CID): void {
    const isProbe = cid.multihash.code === HASH.identity && cid.multihash.size === 0
    if (isProbe || this.#allowed === null || this.#allowed.has(keyOf(cid))) return
    throw new HoldfastError('CID_NOT_FOUND', `${cid} is not among what this gateway serves`)
  }

  /**
   * @param names below the CID, decoded; none for the block itself
   * @throws HoldfastError `GONE` or `LEGAL_REASONS` if that is blocked.
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
