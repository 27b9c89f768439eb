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

export type ServedPins = Pick<
  PinService,
  | 'upload'
  | 'uploadDirectory'
  | 'importDirectory'
  | 'importCar'
  | 'pin'
  | 'remove'
  | 'list'
  | 'usage'
  | 'checkTarget'
  | 'status'
  | 'dag'
  | 'rename'
  | 'setVisibility'
  | 'get'
  | 'discard'
>
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
/** Limits concurrent uploads and shares the slots between accounts. */
export type UploadSlots = Pick<Slots, 'enter'>
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
export type Clusters = Pick<ClusterRegistry, 'allowed' | 'absent' | 'urlOf'>
export type Plans = Pick<PlanCatalogue, 'names' | 'get'>
export type ServedKeys = Pick<
  KeyService,
  'create' | 'generate' | 'generateForConsole' | 'endConsole' | 'endAllConsoles' | 'list' | 'revoke'
>
export type ServedAccounts = Pick<
  AccountService,
  | 'create'
  | 'setPlan'
  | 'setProfile'
  | 'setDefaultVisibility'
  | 'makePasswordLink'
  | 'page'
  | 'get'
  | 'find'
  | 'setDisabled'
  | 'delete'
>
export type Logins = Pick<LoginService, 'login' | 'verifyLogin' | 'unlock'>
export type ServedSessions = Pick<SessionService, 'end'>
export type SessionLists = Pick<SessionRegistry, 'list' | 'end' | 'endAll'>
export type SignUps = Pick<SignUp, 'signUp'>
export type Passwords = Pick<PasswordService, 'change' | 'confirm'>
export type ServedSecondFactors = Pick<SecondFactor, 'isEnabled' | 'begin' | 'enable' | 'disable' | 'check'>

export interface Services {
  rememberedAnswers: Pick<RememberedAnswers, 'answer'>
  pins: ServedPins
  uploadSlots: UploadSlots
  egress: Pick<Egress, 'read'>
  clusters: Clusters
  keys: ServedKeys
  accounts: ServedAccounts
  logins: Logins
  sessions: ServedSessions
  sessionLists: SessionLists
  signUp: SignUps
  passwords: Passwords
  proofs: Pick<Proofs, 'check' | 'prove'>
  providerLogins: Pick<ProviderLogins, 'label' | 'start' | 'finish'>
  passwordLinks: Pick<PasswordLinks, 'use'>
  secondFactor: ServedSecondFactors
  scopes: Pick<ScopePolicy, 'adoption' | 'check' | 'checkSession'>
  plans: Plans
  peers: ServedPeers
  health: Health
  version: string
  /** True if this server also serves the console. */
  hasConsole: boolean

  statistics: Pick<Statistics, 'read'>
  collect: (options: {
    graceMs?: number | undefined
    endUndo?: boolean | undefined
  }) => Promise<Collected & { keptBytes: number }>
  verifier: Pick<Verifier, 'verify'>
  reconciler: Pick<Reconciler, 'run'>
  history: Pick<History, 'samples'>
  failures: Pick<RecentFailures, 'all'>
  backups: Pick<Backups, 'runBelowRoots' | 'state'>
  /** Null for a single node. */
  fleet: Pick<FleetNodes, 'list' | 'retire' | 'forget' | 'confirmAway' | 'lost'> | null
  /** Lets records of a shared catalogue be private. Others always may. */
  enableVisibility: () => Promise<void>
  takedowns: Pick<Takedowns, 'page' | 'add' | 'remove'>
}
