import type { CallFields, Fields } from '../../src/domain/known-fields.ts'
import type { Account, Keys, NewKeyOptions, UploadTokenOptions } from './account.ts'
import type { AuditFilter } from './audit.ts' // feature: audit
import type { RequestOptions } from './connection.ts'
import type { Content } from './content.ts'
import type { CarOptions, Files, SendOptions, TargetOptions, UploadOptions } from './files.ts'
import type { JobFilter, Jobs } from './jobs.ts'
import type { Owner } from './owner.ts'
import type { NewAccountOptions } from './owner-options.ts'
import type { ListOptions, PinOptions, Pins } from './pins.ts'
import type { SecondFactor } from './second-factor.ts'
import type { PageOptions, Sessions, SignInOptions } from './sessions.ts'
import type { Webhooks } from './webhooks.ts' // feature: webhooks

const target: Fields<TargetOptions> = { cluster: true, timelock: true, meta: true }
const send: Fields<SendOptions> = { onProgress: true, signal: true }
const upload: Fields<UploadOptions> = { ...target, ...send, name: true }
const car: Fields<CarOptions> = { ...upload, originalName: true, customName: true, allowPartial: true }

/** Fields of the options of each part of the client. The compiler checks that no method and no field is missing. */
export const FILE_CALLS: CallFields<Files> = {
  upload: { 1: { ...upload, mode: true, mtime: { seconds: true, nanoseconds: true } } },
  uploadDirectory: { 1: upload },
  uploadFromUrl: { 1: upload }, // feature: url-uploads
  importDirectory: { 1: { ...target, preserveMode: true, preserveMtime: true } },
  importCar: { 1: car },
}

const pin: Fields<PinOptions> = {
  ...target,
  name: true,
  originalName: true,
  origins: true,
  background: true,
  signal: true,
}
/** Filters that lists and jobs have in common. */
const search = {
  cid: true,
  expiring: true,
  q: true,
  name: true,
  match: true,
  meta: true,
  type: true,
  status: true,
  after: true,
} as const
const list: Fields<ListOptions> = {
  ...search,
  parentCid: true,
  before: true,
  sort: true,
  limit: true,
  signal: true,
}

export const PIN_CALLS: CallFields<Pins> = {
  add: { 1: pin },
  remove: { 1: { cluster: true } },
  rename: { 2: { meta: true } },
  status: { 1: { cluster: true, signal: true } },
  untilPinned: { 1: send },
  page: { 1: list },
  pages: { 0: list },
  all: { 0: list },
}

const filter: Fields<JobFilter> = { ...search, createdBefore: true, expected: true }

const edit = {
  rename: { find: true, replace: true, prefix: true, suffix: true },
  timelock: true,
  cluster: true,
} as const

export const JOB_CALLS: CallFields<Jobs> = {
  list: {},
  deleteRecords: {},
  deleteMatching: { 0: filter },
  editRecords: { 1: edit },
  editMatching: { 0: filter, 1: edit },
  get: {},
  undo: {},
  untilEnded: { 1: send },
}

export const CONTENT_CALLS: CallFields<Content> = {
  file: { 1: { range: { start: true, end: true }, signal: true } },
  archive: {},
}

export const ACCOUNT_CALLS: CallFields<Account> = {
  show: {},
  update: { 0: { name: true, email: true } },
  changePassword: {},
  clusters: {},
}

const key: Fields<NewKeyOptions> = {
  name: true,
  scopes: true,
  label: true,
  expiresInDays: true,
  ipAllowlist: true,
  totpCode: true,
}
const token: Fields<UploadTokenOptions> = {
  maxUses: true,
  name: true,
  label: true,
  maxBytes: true,
  cl: true,
  timelock: true,
  expiresInSeconds: true,
  ipAllowlist: true,
  totpCode: true,
}

export const KEY_CALLS: CallFields<Keys> = {
  create: { 0: key },
  createUploadToken: { 0: token },
  createForConsole: {},
  list: {},
  listUploadTokens: {},
  revoke: { 1: { totpCode: true } },
}

const page: Fields<PageOptions> = { after: true, limit: true, signal: true }
const kept: Fields<SignInOptions> = { keep: true }

export const SESSION_CALLS: CallFields<Sessions> = {
  signIn: { 2: kept },
  confirm: { 2: kept },
  startProvider: { 0: { proof: true } },
  finishProvider: { 2: kept },
  // Only the route knows which fields belong together.
  prove: { 0: { key: true, password: true, secret: true, answer: true, code: true } },
  signOut: {},
  list: { 0: page },
  end: {},
  endOthers: {},
  setPassword: {},
}
export const SECOND_FACTOR_CALLS: CallFields<SecondFactor> = {
  setUp: {},
  enable: {},
  disable: { 0: { code: true, password: true } },
}
// feature: webhooks
export const WEBHOOK_CALLS: CallFields<Webhooks> = { create: {}, list: {}, remove: {}, deliveries: { 1: page } }
// end

const account: Fields<NewAccountOptions> = { email: true, plan: true, name: true, password: true }

// feature: audit
const auditFilter: Fields<AuditFilter> = { account: true, action: true, outcome: true, from: true, until: true }
// end

export const OWNER_CALLS: CallFields<Owner> = {
  stats: {},
  history: {},
  failures: {},
  peers: {},
  accounts: { 0: { page: true, limit: true, signal: true } },
  createAccount: { 0: account },
  setPlan: {},
  setDisabled: {},
  endSessions: {},
  makePasswordLink: {},
  deleteAccount: {},
  collect: { 0: { graceSeconds: true, signal: true } },
  verify: { 0: send },
  takedowns: { 0: page },
  takeDown: { 0: { cid: true, path: true, reason: true, status: true } },
  liftTakedown: {},
  jobs: { 0: page },
  backups: {},
  deliveries: { 0: { ...page, failed: true } }, // feature: webhooks
  resend: {}, // feature: webhooks
  nodes: {},
  retireNode: { 1: { to: true } },
  audit: { 0: { ...auditFilter, ...page } }, // feature: audit
  exportAudit: { 1: { ...auditFilter, signal: true } }, // feature: audit
  forgetNode: { 1: { isReplaced: true } },
  lostRecords: { 0: { account: true, after: true, limit: true, signal: true } },
}

export const REQUEST: Fields<RequestOptions> = {
  query: true,
  headers: true,
  json: true,
  body: true,
  idleMs: true,
  signal: true,
}
