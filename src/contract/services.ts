import type { AccountService } from '../access/accounts/account-service.ts'
import type { PasswordLinks } from '../access/accounts/password-links.ts'
import type { PasswordService } from '../access/accounts/password-service.ts'
import type { SignUp } from '../access/accounts/sign-up.ts'
import type { KeyService } from '../access/keys/key-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { ScopePolicy } from '../access/scope-policy.ts'
import type { SessionRegistry } from '../access/sessions/session-registry.ts'
import type { SessionService } from '../access/sessions/session-service.ts'
import type { LoginService } from '../access/sign-in/login-service.ts'
import type { Proofs } from '../access/sign-in/proofs.ts'
import type { ProviderLogins } from '../access/sign-in/provider-logins.ts'
import type { SecondFactor } from '../access/sign-in/second-factor-check.ts'
import type { Backups } from '../backup/backups.ts'
import type { FleetNodes } from '../catalogue/fleet.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Slots } from '../concurrency/slots/slots.ts'
import type { Collected } from '../content/collector.ts'
import type { Verifier } from '../content/verifier.ts'
import type { Egress } from '../gateway/policy/account-egress.ts'
import type { Takedowns } from '../gateway/policy/takedowns.ts'
import type { Connection } from '../network/network-node.ts'
import type { Statistics } from '../pins/lists/statistics.ts'
import type { PinService } from '../pins/pin-service.ts'
import type { History } from '../upkeep/history.ts'
import type { RecentFailures } from '../upkeep/recent-failures.ts'
import type { Reconciler } from '../upkeep/reconciler.ts'
import type { RememberedAnswers } from './remembered-answers.ts'

export interface ServedPeers {
  /** 0 while networking is off. */
  peerCount(): number
  /** The node's public multiaddrs. Empty while networking is off. */
  addresses(): string[]
  /** Null while networking is off. */
  peerId(): string | null
  connections(): readonly Connection[]
  /** Null if the node does not use the public network. */
  publicNetwork(): 'connected' | 'no-peers' | null
}
/**
 * Health of the node:
 *
 * - `ok`: the node works.
 * - `full`: the node reads and deletes content, but refuses new content.
 * - `failed`: a write to disk failed, and the node writes nothing until a restart.
 * - `stopping`: the node stops soon.
 * - `no-claim`: the node was given up, or another process runs as it.
 * - `no-catalogue`: the database is not writable.
 * - `clock-skew`: the clocks of the database and the node differ by over two seconds.
 * - `no-storage`: a block directory is missing, replaced or read-only.
 */
export type NodeStatus =
  | 'ok'
  | 'full'
  | 'failed'
  | 'stopping'
  | 'no-claim'
  | 'no-catalogue'
  | 'clock-skew'
  | 'no-storage'
export interface Health {
  status(): NodeStatus
  /** Describes the storage failure without file paths. Null if all storage works. */
  storageProblem(): string | null
  /** Notes an answer to a load balancer. */
  probed(isReady: boolean): void
}
export interface Services {
  rememberedAnswers: RememberedAnswers
  pins: PinService
  /** Limits concurrent uploads and shares the slots between accounts. */
  uploadSlots: Slots
  egress: Egress
  clusters: ClusterRegistry
  keys: KeyService
  accounts: AccountService
  logins: LoginService
  sessions: SessionService
  sessionLists: SessionRegistry
  signUp: SignUp
  passwords: PasswordService
  proofs: Proofs
  providerLogins: ProviderLogins
  passwordLinks: PasswordLinks
  secondFactor: SecondFactor
  scopes: ScopePolicy
  plans: PlanCatalogue
  peers: ServedPeers
  health: Health
  version: string
  /** True if this server also serves the console. */
  hasConsole: boolean

  statistics: Statistics
  collect: (options: {
    graceMs?: number | undefined
    endUndo?: boolean | undefined
  }) => Promise<Collected & { keptBytes: number }>
  verifier: Verifier
  reconciler: Reconciler
  history: History
  failures: RecentFailures
  backups: Backups
  /** Null for a single node. */
  fleet: FleetNodes | null
  /** Lets records of a shared catalogue be private. Others always may. */
  enableVisibility: () => Promise<void>
  takedowns: Takedowns
}
