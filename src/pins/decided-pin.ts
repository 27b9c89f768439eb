import type { CID } from 'multiformats/cid'
import type { Account } from '../access/principal.ts'
import type { StagingBackend } from '../clusters/staging-backend.ts'
import type { Plan } from '../domain/plan.ts'
import type { Possessor } from '../ledger/possessor.ts'
import type { PinRequest } from './pin-types.ts'

export interface Requester {
  account: Account
  plan: Plan
}

/** Cluster, expiry and visibility of a pin, after defaults and permissions are applied. */
export interface DecidedTarget {
  clusterId: string
  /** 0 for a public record, else the number of the account. The root of the record gets the same owner. */
  owner: number
  /** Number of the account whose private content the record may be made of, or 0 for none. */
  possessor: number
  /** Owner of a record that is made of private content. */
  ownerOfPrivate: number
  expiresAt: number | null
}

export interface DecidedPin {
  request: PinRequest
  requester: Requester
  cid: CID
  target: DecidedTarget
  home: StagingBackend
  /** The party for which the pin uses stored blocks. */
  by: Possessor
}
