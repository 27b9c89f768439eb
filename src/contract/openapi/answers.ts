import { type TSchema, Type } from 'typebox'
import { SCOPES } from '../../access/principal.ts'

/**
 * The bodies of answers, for the description of the contract and for the tests that hold it against real answers;
 * nothing is checked against them while the service runs.
 */

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const bytes = Type.Integer({ minimum: 0, description: 'bytes' })
const instant = Type.String({ format: 'date-time', description: 'UTC with milliseconds' })
const cid = Type.String({ description: 'content identifier' })
const clusterId = Type.String({ examples: ['cl0-global'] })
const state = Type.Enum(['queued', 'pinning', 'pinned', 'failed'])

function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()])
}

const shownName = Type.String({ description: 'its custom, original or own name; its CID where it has none' })
const upload = {
  cid,
  clusterId,
  expiresAt: orNull(instant),
  createdAt: instant,
  status: state,
  uploadId: Type.String({ description: 'of this record; URL-safe' }),
  name: shownName,
  size: Type.Integer({ minimum: 0, description: 'content bytes' }),
  type: Type.Enum(['file', 'directory', 'pin']),
}
const names = { originalName: orNull(text), customName: orNull(text) }
const pin = { ...upload, ...names, pinned: Type.Boolean({ description: 'every block of it is stored and durable' }) }

const dag = {
  ...upload,
  dagCid: Type.String({ description: 'the same as cid' }),
  filename: text,
  files: Type.Array(Type.Object({ cid, filename: text, size: bytes, path: text }), {
    maxItems: 1_000,
    description: 'the first ones',
  }),
  total_files: count,
  total_size: bytes,
}

const allocation = Type.Object({
  peer: Type.String({ description: 'the cluster that holds it' }),
  status: state,
  timestamp: instant,
  error: orNull(text),
})

const limit = orNull(Type.Integer({ minimum: 0, description: 'null for none' }))
const rate = orNull(Type.Object({ requests: count, windowSeconds: count }))
const planFields = {
  name: text,
  timelock: Type.Boolean({ description: 'whether uploads and pins may carry an expiry' }),
  clusters: Type.Union([Type.Array(text), Type.Literal('*')]),
  serverImport: Type.Boolean({ description: 'whether imports by server path are offered' }),
  maxFileBytes: limit,
  maxDirectoryBytes: limit,
  maxDirectoryFiles: limit,
  maxStorageBytes: limit,
  maxPins: limit,
  maxKeys: limit,
  maxQueuedPins: limit,
  pageLimit: Type.Object({ default: count, max: count }),
  rateLimit: rate,
  accountRateLimit: rate,
}
const usage = Type.Object({
  pins: count,
  storedBytes: Type.Integer({ minimum: 0, description: 'bytes of each distinct DAG, counted once' }),
})
const plan = { id: text, ...planFields }

const user = Type.Object({
  id: text,
  email: text,
  username: text,
  name: orNull(text),
  role: Type.Enum(['owner', 'user']),
  plan: Type.String({ description: 'its name' }),
  planDetails: Type.Object(planFields),
  clusters: Type.Integer({ minimum: 0, description: 'how many it may use' }),
  usage,
  createdAt: instant,
  twoFactorEnabled: Type.Boolean(),
})

const key = {
  name: text,
  label: orNull(text),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  createdAt: instant,
  expiresAt: orNull(instant),
}

export const ANSWERS = {
  About: Type.Object({ name: Type.Literal('holdfast'), version: text }),
  Health: Type.Object({ status: Type.Union([Type.Literal('ok'), Type.Literal('full'), Type.Literal('failed')]) }),
  Peers: Type.Object({ peers: Type.Array(text, { description: 'empty: nobody is named' }), count }),

  Upload: Type.Object(upload),
  Directory: Type.Object({ message: text, ...dag }),
  Dag: Type.Object(dag),
  Car: Type.Object({
    ...upload,
    roots: Type.Array(
      Type.Object({
        ...upload,
        missing: orNull(Type.Object({ blocks: count, first: cid }, { description: 'only with allowPartial' })),
      }),
      { description: 'all roots of the CAR, the one above first' },
    ),
  }),
  Pin: Type.Object(pin),
  Removed: Type.Object({ cid, removed: Type.Literal(true), success: Type.Literal(true) }),
  Renamed: Type.Object({ updated: Type.Literal(true), newName: text }),
  Status: Type.Object({
    ...pin,
    statusAt: instant,
    reason: orNull(text),
    blocks: count,
    bytes,
    attempts: count,
    nextAttemptAt: orNull(instant),
    lastError: orNull(text),
    lastAnnounced: orNull(instant),
    peers: Type.Array(text),
    allocations: Type.Array(allocation),
  }),
  Allocations: Type.Object({
    cid,
    clusterId,
    name: shownName,
    timestamp: instant,
    replication_factor: count,
    nodes: Type.Array(allocation),
    allocations: Type.Array(allocation),
  }),
  UploadList: Type.Object({
    uploads: Type.Array(
      Type.Object({
        ...upload,
        ...names,
        uploadedAt: instant,
        dagSize: Type.Integer({ minimum: 0, description: 'bytes of all its distinct blocks' }),
        parentCid: orNull(text),
        path: orNull(text),
      }),
    ),
    total: Type.Integer({ minimum: 0, description: 'what all pages together deliver' }),
    pagination: Type.Object({
      page: count,
      limit: Type.Integer({ minimum: 1, description: 'the one in effect' }),
      total: count,
      totalPages: count,
    }),
  }),

  Clusters: Type.Array(
    Type.Object({
      clusterId,
      id: clusterId,
      label: text,
      region: text,
      country: orNull(text),
      gateways: Type.Array(
        Type.Object({
          publicUrl: Type.String({ description: 'ends with /ipfs/; a CID behind it is a content URL' }),
          url: text,
          label: text,
          order: count,
        }),
      ),
    }),
  ),
  User: user,
  UpdatedUser: Type.Object({ message: text, ...user.properties }),
  Session: Type.Object({ token: Type.String({ description: 'good for 24 hours' }), user }),
  Login: Type.Union([
    Type.Object({ token: Type.String({ description: 'good for 24 hours' }), user }),
    Type.Object({ requires2FA: Type.Literal(true), temporaryToken: text }),
  ]),
  SignedUp: Type.Object({ message: text, user }),
  Message: Type.Object({ message: text }),
  SecondFactorSetup: Type.Object({ secret: text, otpauthUrl: text }),
  SecondFactorEnabled: Type.Object({
    enabled: Type.Literal(true),
    recoveryCodes: Type.Array(text, { description: 'each good once, shown this once' }),
  }),
  SecondFactorDisabled: Type.Object({ enabled: Type.Literal(false) }),
  Plans: Type.Array(Type.Object(plan)),
  OwnPlan: Type.Object({ ...plan, usage }),
  Preferences: Type.Object({ language: Type.Null(), country: Type.Null() }),
  Referrals: Type.Object({ referralCode: Type.Null(), referrals: Type.Array(text), total: count }),
  Locales: Type.Array(Type.Object({ code: text, name: text })),

  NewKey: Type.Object({ token: Type.String({ description: 'the secret, shown this once' }), ...key }),
  Keys: Type.Array(
    Type.Object({
      ...key,
      prefix: Type.String({ description: 'how the secret begins' }),
      parent: orNull(Type.String({ description: 'the name of the key that made it' })),
      permissions: Type.Array(Type.Enum(['read', 'write', 'admin'])),
      ipAllowlist: Type.Array(text),
      lastUsed: orNull(instant),
    }),
  ),
  Sessions: Type.Object({
    sessions: Type.Array(
      Type.Object({
        id: text,
        createdAt: instant,
        expiresAt: instant,
        current: Type.Boolean({ description: 'whether it is the one that asks' }),
      }),
    ),
    next: orNull(Type.String({ description: 'what the next page comes after; null at the end' })),
  }),
  SessionsEnded: Type.Object({ ended: Type.Integer({ minimum: 0, description: 'how many' }) }),
  Revoked: Type.Object({ name: text, revoked: Type.Literal(true) }),
} satisfies Record<string, TSchema>

export type AnswerName = keyof typeof ANSWERS

/** Of every answer from 400 on. */
export const ERROR = Type.Object({
  error: Type.String({ description: 'reason phrase of the status' }),
  message: Type.String({ description: 'for people; names the field that is wrong' }),
  code: Type.String({ description: 'for programs; stable' }),
  required: Type.Optional(Type.String({ description: 'the scope that is missing' })),
  retryAfter: Type.Optional(Type.Integer({ minimum: 1, description: 'seconds, as in Retry-After' })),
  limit: Type.Optional(count),
  remaining: Type.Optional(count),
  resetTime: Type.Optional(instant),
  allow: Type.Optional(Type.String({ description: 'the methods that the path answers' })),
  requestId: Type.Optional(Type.String({ description: 'from 500 on: what to look for in the log' })),
})
