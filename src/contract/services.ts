import type { AccountService } from '../access/accounts/account-service.ts'
import type { PasswordService } from '../access/accounts/password-service.ts'
import type { SignUp } from '../access/accounts/sign-up.ts'
import type { KeyService } from '../access/keys/key-service.ts'
import type { PlanCatalogue } from '../access/plan-catalogue.ts'
import type { ScopePolicy } from '../access/scope-policy.ts'
import type { SessionRegistry } from '../access/sessions/session-registry.ts'
import type { SessionService } from '../access/sessions/session-service.ts'
import type { LoginService } from '../access/sign-in/login-service.ts'
import type { SecondFactor } from '../access/sign-in/second-factor-check.ts'
import type { Backups } from '../backup/backups.ts'
import type { ClusterRegistry } from '../clusters/cluster-registry.ts'
import type { Slots } from '../concurrency/slots.ts'
import type { Collector } from '../content/collector.ts'
import type { Verifier } from '../content/verifier.ts'
import type { Takedowns } from '../gateway/policy/takedowns.ts'
import type { Connection } from '../network/network-node.ts'
import type { Statistics } from '../pins/lists/statistics.ts'
import type { PinService } from '../pins/pin-service.ts'
import type { History } from '../upkeep/history.ts'
import type { RecentFailures } from '../upkeep/recent-failures.ts'
import type { Reconciler } from '../upkeep/reconciler.ts'
import type { WebhookService } from '../webhooks/webhook-service.ts'
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
  | 'get'
  | 'discard'
>
/** The node as the network sees it. */
export interface ServedPeers {
  /** Connected ones; 0 while networking is off. */
  peerCount(): number
  /** Multiaddrs by which others reach it; none while networking is off. */
  addresses(): string[]
  /** By which it is known; null while networking is off. */
  peerId(): string | null
  connections(): readonly Connection[]
  /** Null if the node does not belong to the public network. */
  publicNetwork(): 'connected' | 'no-peers' | null
}
/** Places for uploads, by account. */
export type UploadSlots = Pick<Slots, 'enter'>
/**
 * `full`: reads and deletions go on, new content is refused until there is room; `failed`: the disk has failed a write,
 * and nothing more is written until a restart; `stopping`: it will end soon; `no-catalogue`: the database cannot be
 * written to; `clock-skew`: its clock and the node's are over two seconds apart; `no-storage`: a directory of blocks is gone,
 * replaced or cannot be written.
 */
export type NodeStatus = 'ok' | 'full' | 'failed' | 'stopping' | 'no-catalogue' | 'clock-skew' | 'no-storage'
export interface Health {
  status(): NodeStatus
  /** Which blocks cannot be kept, and why, without paths; null if all can. */
  storageProblem(): string | null
}
export type Clusters = Pick<ClusterRegistry, 'allowed' | 'absent'>
export type Plans = Pick<PlanCatalogue, 'names' | 'get'>
export type ServedKeys = Pick<KeyService, 'create' | 'generate' | 'list' | 'revoke'>
export type ServedAccounts = Pick<
  AccountService,
  'create' | 'setPlan' | 'setProfile' | 'page' | 'get' | 'setDisabled' | 'delete'
>
export type Logins = Pick<LoginService, 'login' | 'verifyLogin'>
export type ServedSessions = Pick<SessionService, 'end'>
export type SessionLists = Pick<SessionRegistry, 'list' | 'end' | 'endAll'>
export type SignUps = Pick<SignUp, 'signUp'>
export type Passwords = Pick<PasswordService, 'change' | 'confirm'>
export type ServedSecondFactors = Pick<SecondFactor, 'isEnabled' | 'begin' | 'enable' | 'disable' | 'check'>

/** What the handlers of routes are given: the parts of one engine. */
export interface Services {
  rememberedAnswers: Pick<RememberedAnswers, 'answer'>
  pins: ServedPins
  uploadSlots: UploadSlots
  clusters: Clusters
  keys: ServedKeys
  accounts: ServedAccounts
  logins: Logins
  sessions: ServedSessions
  sessionLists: SessionLists
  signUp: SignUps
  passwords: Passwords
  secondFactor: ServedSecondFactors
  scopes: Pick<ScopePolicy, 'check' | 'checkSession'>
  plans: Plans
  peers: ServedPeers
  health: Health
  /** Of the software. */
  version: string
  /** Whether the console is served beside the API. */
  hasConsole: boolean

  statistics: Pick<Statistics, 'read'>
  collector: Pick<Collector, 'collect'>
  verifier: Pick<Verifier, 'verify'>
  reconciler: Pick<Reconciler, 'run'>
  history: Pick<History, 'samples'>
  failures: Pick<RecentFailures, 'all'>
  backups: Pick<Backups, 'runBelowRoots'>
  takedowns: Pick<Takedowns, 'page' | 'add' | 'remove'>
  webhooks: Pick<WebhookService, 'create' | 'list' | 'remove' | 'deliveries'>
}
