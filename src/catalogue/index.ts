/** The interfaces of a catalogue, for programs that implement their own. */

import type { AuditStore } from '../features/audit/audit-store.ts' // feature: audit
import type { WebhookStore } from '../features/webhooks/webhook-store.ts' // feature: webhooks
import type { CoreCatalogue } from './catalogue.ts'

export type { PinStatus, StatusCode, StatusReason } from '../domain/pin-status.ts'
export { checkTransition } from '../domain/pin-status.ts'
// feature: audit
export type {
  AuditActor,
  AuditEntry,
  AuditFilter,
  AuditRetention,
  AuditRow,
  AuditStore,
  NewAuditEntry,
} from '../features/audit/audit-store.ts'
export { AUDIT_ACTORS, AUDIT_VISITED } from '../features/audit/audit-store.ts'
// end
export type { DagIdentity } from '../ipld/cid.ts'
export type { NewBlock } from '../ledger/blocks.ts'
export type { DagSizes, OwnedDag, WholeDag } from '../ledger/whole-dag.ts'
export type { Account, AccountChanges, AccountStore, IdentityKey, PasswordLinkRow } from './account-store.ts'
export type {
  BulkAction,
  BulkChange,
  BulkChanges,
  BulkFailure,
  BulkPhase,
  BulkStep,
  NewBulkChange,
  SelectedStep,
  UndoEnd,
} from './bulk-changes.ts'
export { CHANGE_KEPT_MS, FAILURES_KEPT, MOST_CHANGES, usageWithRemoved } from './bulk-changes.ts'
export type { BulkEdit, EditRefusal } from './bulk-edits.ts'
export { editedRecord } from './bulk-edits.ts'
export type { CoreCatalogue } from './catalogue.ts'

/** The state that all nodes share, features included. Each method is one transaction. */
export interface Catalogue extends CoreCatalogue {
  audit: AuditStore // feature: audit
  webhooks: WebhookStore // feature: webhooks
}

// feature: webhooks
export type {
  DeliveryOutcome,
  DeliveryRow,
  SentDelivery,
  WebhookRow,
  WebhookStore,
} from '../features/webhooks/webhook-store.ts'
export { ENDED_DELIVERIES_KEPT } from '../features/webhooks/webhook-store.ts'
// end
export type { DeletionStops } from './deletion-stops.ts'
export type { EgressPayer, EgressRow, EgressStore, SentBytes } from './egress.ts'
export { MOST_PAYERS, PAYING_ROOTS } from './egress.ts'
export type { Fetches, FetchFailure, FetchRequest, FetchRow, RequestedPin, StatusChange } from './fetches.ts'
export { OVER_QUOTA } from './fetches.ts'
export type { DueIdentity, IdentityStore, StoredRefresh } from './identity-store.ts'
export type { KeyRefusal, KeyRow, KeyStore, NewKeyRow, UploadGrant } from './key-store.ts'
export { consoleKeyName, EXPIRED_KEYS_KEPT, isConsoleKey, MOST_CONSOLE_KEYS } from './key-store.ts'
export type { Files, ListedContent, ListedFile } from './listed-files.ts'
export type { NumberedPage, Page, PageRequest } from './page.ts'
export type { PlacementKey, PlacementLag, PlacementRow, Placements } from './placements.ts'
export { MOST_WAITING, NOBODY } from './placements.ts'
export type { Reconciliation, RecordFinding, RecordProblem } from './reconciliation.ts'
export type {
  AccountUsage,
  Brought,
  CommitIntent,
  Committed,
  ListedRecord,
  NameMatch,
  NewRecord,
  PinLimits,
  RecordFilter,
  RecordRow,
  RecordSearch,
  Records,
  RenameRequest,
} from './records.ts'
export type { ClearSecret, SecondFactorRow, SecondFactorStore } from './second-factors.ts'
export type { Session, SessionStore } from './session-store.ts'
export { MOST_SESSIONS } from './session-store.ts'
export type { KeptTotals, UndoPeriods } from './undo-periods.ts'
