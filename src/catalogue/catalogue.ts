import type { AccountStore } from './account-store.ts'
import type { BulkChanges } from './bulk-changes.ts'
import type { DeletionStops } from './deletion-stops.ts'
import type { EgressStore } from './egress.ts'
import type { Fetches } from './fetches.ts'
import type { IdentityStore } from './identity-store.ts'
import type { KeyStore } from './key-store.ts'
import type { Files } from './listed-files.ts'
import type { Placements } from './placements.ts'
import type { Reconciliation } from './reconciliation.ts'
import type { Records } from './records.ts'
import type { SecondFactorStore } from './second-factors.ts'
import type { SessionStore } from './session-store.ts'
import type { UndoPeriods } from './undo-periods.ts'

/**
 * The state that all nodes share.
 * Each method is one transaction. Its parameters contain everything that the transaction needs for its decisions,
 * including the current time.
 */
export interface CoreCatalogue {
  accounts: AccountStore
  identities: IdentityStore
  keys: KeyStore
  sessions: SessionStore
  secondFactors: SecondFactorStore
  egress: EgressStore
  records: Records
  bulk: BulkChanges & UndoPeriods
  stops: DeletionStops
  fetches: Fetches
  files: Files
  placements: Placements
  reconciliation: Reconciliation
}
