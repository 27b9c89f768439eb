import type { Accounts, NewAccount } from '../access/accounts/accounts.ts'
import type { AccountsOptions, ConnectOptions, SecondFactors, Sessions } from '../access/accounts/accounts-handle.ts'
import type { KeyInput } from '../access/keys/key-input.ts'
import type { Keys } from '../access/keys/keys.ts'
import type { ClusterRegistry, Engine, NodeDirectory, PinService, TakedownList } from '../api.ts'
import type { BackupOptions } from '../backup/back-up.ts'
import type { PageRequest } from '../catalogue/page.ts'
import type { VerifyOptions } from '../content/verifier.ts'
import type { ListenOptions } from '../domain/emitter.ts'
import type { CallFields, Fields } from '../domain/known-fields.ts'
import type { BulkJobs, JobRequest, JobWait } from '../features/bulk/bulk-jobs.ts' // feature: bulk
import type { BulkFilter } from '../features/bulk/bulk-service.ts' // feature: bulk
import type { TakedownRequest } from '../gateway/policy/takedowns.ts'
import type { Content, ContentAddress, ReadRequest } from '../gateway/reader/content-request.ts'
import type { Events } from '../pins/events.ts'
import type { StatusRequest } from '../pins/fetch/pin-progress.ts'
import type {
  CarImportOptions,
  CidRequest,
  PinNames,
  PinRequest,
  PinTarget,
  RecordRequest,
  RenameRequest,
  UploadOptions,
  WholeListQuery,
} from '../pins/pin-types.ts'
import type { Requesting } from '../pins/requesting-account.ts'
import type { DirectoryImportOptions, FileUploadOptions } from '../pins/upload-types.ts'
import type { ReconcileOptions } from '../upkeep/findings.ts'

const target: Fields<PinTarget> = { cluster: true, timelock: true, fromNode: true }
const names: Fields<PinNames> = { name: true, originalName: true, customName: true, meta: true }
const upload: Fields<UploadOptions> = {
  ...target,
  ...names,
  account: true,
  late: true,
  expectedBytes: true,
  signal: true,
  token: true,
  onProgress: true,
}
const fileUpload: Fields<FileUploadOptions> = { ...upload, mode: true, mtime: { seconds: true, nanoseconds: true } }
const directoryImport: Fields<DirectoryImportOptions> = { ...upload, preserveMode: true, preserveMtime: true }
const car: Fields<CarImportOptions> = { ...upload, allowPartial: true }
const pinOptions: Fields<Omit<PinRequest, 'cid'>> = {
  ...target,
  ...names,
  account: true,
  origins: true,
  respondAsync: true,
  isAnew: true,
  onProgress: true,
  signal: true,
}
const pin: Fields<PinRequest> = { ...pinOptions, cid: true }
const cidOptions: Fields<Omit<CidRequest, 'cid'>> = { account: true, cluster: true }
const byCid: Fields<CidRequest> = { ...cidOptions, cid: true }
const statusOptions: Fields<Omit<StatusRequest, 'cid'>> = { ...cidOptions, peers: true }
const status: Fields<StatusRequest> = { ...statusOptions, cid: true }
const record: Fields<RecordRequest> = { account: true, uploadId: true }
const rename: Fields<RenameRequest> = { ...record, name: true, meta: true }
const wholeList: Fields<WholeListQuery> = {
  account: true,
  cid: true,
  cids: true,
  parentCid: true,
  hasExpiration: true,
  q: true,
  name: true,
  match: true,
  meta: true,
  type: true,
  status: true,
  before: true,
  after: true,
  sort: true,
}

/** Fields of the options of `engine.pins`. The compiler checks that no method and no field is missing. */
export const PIN_CALLS: CallFields<PinService> = {
  upload: { 1: fileUpload },
  uploadDirectory: { 1: upload },
  importDirectory: { 1: directoryImport },
  importCar: { 1: car },
  pin: { 0: pin, 1: pinOptions },
  remove: { 0: byCid, 1: cidOptions },
  get: { 0: record },
  discard: { 0: record },
  list: { 0: { ...wholeList, page: true, limit: true } },
  all: { 0: wholeList },
  status: { 0: status, 1: statusOptions },
  dag: { 0: byCid, 1: cidOptions },
  rename: { 0: rename },
  usage: {},
  checkTarget: { 1: target },
}

// feature: bulk
const job: Fields<JobRequest> = {
  account: true,
  action: true,
  ids: true,
  filter: {
    createdBefore: true,
    expected: true,
    cid: true,
    cids: true,
    hasExpiration: true,
    q: true,
    name: true,
    match: true,
    meta: true,
    type: true,
    status: true,
    after: true,
  } satisfies Fields<BulkFilter>,
  rename: { find: true, replace: true, prefix: true, suffix: true },
  timelock: true,
  cluster: true,
}
const requesting: Fields<Requesting> = { account: true }
const jobWait: Fields<JobWait> = { ...requesting, onProgress: true, signal: true }

export const JOB_CALLS: CallFields<BulkJobs> = {
  start: { 0: job },
  get: { 1: requesting },
  list: { 0: requesting },
  undo: { 1: requesting },
  untilEnded: { 1: jobWait },
}
// end

const address: Fields<ContentAddress> = { cid: true, path: true, account: true, signal: true }
const read: Fields<ReadRequest> = { ...address, range: { start: true, end: true } }

export const CONTENT_CALLS: CallFields<Content> = {
  read: { 0: read },
  stat: { 0: address },
  entries: { 0: address },
  exportCar: { 0: address },
}

export const CLUSTER_CALLS: CallFields<ClusterRegistry> = { list: { 0: { account: true } }, backendOf: {} }

/** Fields of the options of `openAccounts`, and of `connectAccounts`. */
export const ACCOUNTS: Fields<AccountsOptions> = { dataDir: true, config: true, adapters: true, clock: true }
export const CONNECT: Fields<ConnectOptions> = { ...ACCOUNTS, catalogue: true }

const newAccount: Fields<NewAccount> = { email: true, plan: true, name: true, password: true, role: true }

export const ACCOUNT_CALLS: CallFields<Accounts> = {
  create: { 0: newAccount },
  ensureOwner: {},
  get: {},
  find: {},
  list: {},
  pages: {},
  page: {},
  setPlan: {},
  setDefaultCluster: {},
  setDisabled: {},
  setProfile: { 1: { email: true, name: true } },
  setPassword: { 2: { keep: true, field: true } },
  makePasswordLink: {},
  setIdentity: { 1: { issuer: true, subject: true } },
  delete: {},
}

const key: Fields<KeyInput> = {
  name: true,
  scopes: true,
  permissions: true,
  expiresInDays: true,
  ipAllowlist: true,
  label: true,
  maxUses: true,
  maxBytes: true,
  cluster: true,
  timelock: true,
  expiresInSeconds: true,
}

export const KEY_CALLS: CallFields<Keys> = {
  create: { 1: key },
  generate: { 1: key },
  adopt: {},
  list: { 1: { isUpload: true } },
  pages: {},
  revoke: {},
  revokeByName: {},
}

const page: Fields<PageRequest> = { after: true, limit: true }
export const SESSION_CALLS: CallFields<Sessions> = { list: { 1: page }, end: {}, endAll: {} }
export const SECOND_FACTOR_CALLS: CallFields<SecondFactors> = { isEnabled: {}, begin: {}, enable: {}, disable: {} }

const takedown: Fields<TakedownRequest> = { cid: true, path: true, reason: true, status: true }

export const TAKEDOWN_CALLS: CallFields<TakedownList> = {
  page: { 0: page },
  add: { 0: takedown },
  remove: { 0: { cid: true, path: true } },
}

export const NODE_CALLS: CallFields<NodeDirectory> = {
  list: {},
  retire: { 1: { to: true } },
  forget: { 1: { isReplaced: true } },
  lost: { 0: { after: true, limit: true, account: true } },
}

const listen: Fields<ListenOptions> = { signal: true }

export const EVENT_CALLS: CallFields<Events> = { on: { 2: listen }, once: { 1: listen } }

const verify: Fields<VerifyOptions> = { signal: true, onProgress: true }
const backup: Fields<BackupOptions> = { bytesPerSecond: true, force: true, keys: true, onProgress: true, signal: true }
const reconcile: Fields<ReconcileOptions> = {
  dryRun: true,
  force: true,
  signal: true,
  onlyClusters: true,
  onProgress: true,
}

/** Methods of the engine itself that take options. */
export type UpkeepCalls = Pick<Engine, 'collect' | 'verify' | 'backup' | 'reconcile'>

export const UPKEEP_CALLS: CallFields<UpkeepCalls> = {
  collect: { 0: { graceSeconds: true, endUndo: true } },
  verify: { 0: verify },
  backup: { 1: backup },
  reconcile: { 0: reconcile },
}
