import type { CID } from 'multiformats/cid'
import type { KnownRevision } from '../../content/revision-log.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { HASH, parseCid } from '../../ipld/cid.ts'
import { keyOfCid } from '../../ipld/multihash-key.ts'
import { formatContentPath } from '../http/content-path.ts'
import type { BlockedStatus, Denylist } from './denylist.ts'
import type { DenylistFile } from './denylist-file.ts'

export interface AdmissionOptions {
  /** CIDs that requests may name as the root. Null allows all pinned content. */
  allow: readonly string[] | null
  denylist: DenylistFile | null
  takedowns: TakenDown
  /** Default: nothing ever changes. */
  revision?: Pick<KnownRevision, 'number'> | undefined
}

/** Changes apply immediately, even to responses that are being sent. */
export interface TakenDown {
  readonly denylist: Denylist | null
}

/** Limits of the content that a request may read. */
interface Rules {
  allowed: ReadonlySet<string> | null
  denylist: Denylist | null
  takedowns: TakenDown
  revision: Pick<KnownRevision, 'number'>
}

export class Admission {
  readonly #rules: Omit<Rules, 'denylist'>
  readonly #denylist: DenylistFile | null

  /** @throws HoldfastError `INVALID_CID` if the allow list contains an invalid CID */
  constructor({ allow, denylist, takedowns, revision = { number: 0 } }: AdmissionOptions) {
    const allowed = allow === null ? null : new Set(allow.map(text => keyOfCid(parseCid(text, 'gateway.allow'))))
    this.#rules = { allowed, takedowns, revision }
    this.#denylist = denylist
  }

  async rules(): Promise<AdmissionRules> {
    const denylist = this.#denylist === null ? null : await this.#denylist.current()
    return new AdmissionRules({ ...this.#rules, denylist })
  }
}

export class AdmissionRules {
  readonly #rules: Rules

  constructor(rules: Rules) {
    this.#rules = rules
  }

  /** Number that increases with each change of what may be served. */
  get revision(): number {
    return this.#rules.revision.number
  }

  /**
   * Checks the root of a request. The empty identity CID is always allowed, because clients probe with that CID.
   *
   * @throws HoldfastError `CID_NOT_FOUND` if the allow list lacks the CID
   */
  checkRoot(cid: CID): void {
    const isProbe = cid.multihash.code === HASH.identity && cid.multihash.size === 0
    if (isProbe || this.#rules.allowed === null || this.#rules.allowed.has(keyOfCid(cid))) return
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
    for (const list of [this.#rules.takedowns.denylist, this.#rules.denylist]) {
      if (list !== null && !list.isEmpty) status ??= list.statusOf(cid, names)
    }
    if (status === null) return
    const message = `${formatContentPath(cid.toString(), names)} is blocked by the operator of this gateway`
    throw new HoldfastError(status === 451 ? 'LEGAL_REASONS' : 'GONE', message)
  }
}
