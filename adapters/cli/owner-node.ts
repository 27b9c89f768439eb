import { createEngine, type Engine, HoldfastError, isHoldfastError } from '../../src/index.ts'
import type { HoldfastClient, JsonObject, PendingNode } from '../client/index.ts'
import { accountRow } from './account-lines.ts'
import { connect, listOf, numberOf } from './api-command.ts'
import { ownerBase, readApiSettings } from './api-settings.ts'
import { usageError } from './arguments.ts'
import type { Flags, OWNER_FLAGS } from './command-spec.ts'
import { nodeRow } from './node-lines.ts'
import { endWithReader, isoTime } from './output.ts'
import { patientFetch } from './patient-fetch.ts'
import { serverAdapters } from './server-adapters.ts'
import { type DirectoryFlags, type Environment, readDirectorySettings } from './settings.ts'

export interface BackupTarget {
  directory: string
  keys: string | undefined
  force: boolean
  bytesPerSecond: number | undefined
}

/**
 * Administration of a node, in this process or through a server. Results have the same fields as responses of
 * `/admin/v1`.
 */
export interface OwnerNode {
  stats(): Promise<JsonObject>
  collect(options: { graceSeconds?: number; endUndo?: boolean }): Promise<JsonObject>
  /** Checks every block. `onProgress` receives the number of bytes read so far. */
  verify(onProgress: (bytes: number) => void): Promise<JsonObject>
  /** Backs up the node. Only a local node accepts `keys`. */
  backup(target: BackupTarget, onProgress: (bytes: number) => void): Promise<JsonObject>
  reconcile(options: { dryRun: boolean; force: boolean }): Promise<JsonObject>
  accounts(): AsyncIterable<readonly JsonObject[]>
  takedowns(): AsyncIterable<readonly JsonObject[]>
  takeDown(takedown: { cid: string; path: string; reason: string; status: 410 | 451 }): Promise<JsonObject>
  liftTakedown(target: { cid: string; path: string }): Promise<JsonObject>
  nodes(): Promise<readonly JsonObject[]>
  retireNode(id: string, to: string): Promise<void>
  forgetNode(id: string, isReplaced: boolean): Promise<void>
  /** Yields pages of the records whose content was lost with a node. */
  lostRecords(account: string | undefined): AsyncIterable<readonly JsonObject[]>
}

/** Runs an owner's command on the node that the arguments name. */
export async function withOwnerNode<G extends { flags: Flags<typeof OWNER_FLAGS> }>(
  given: G,
  env: Environment,
  work: (work: G & { node: OwnerNode; json: boolean }) => Promise<void>,
): Promise<void> {
  endWithReader()
  const { flags } = given
  const { json } = flags
  if (flags['data-dir'] === undefined) {
    if (flags.config !== undefined) throw usageError('--config requires --data-dir')
    const client = connect(ownerBase(readApiSettings(flags, env)), { fetch: await patientFetch() })
    return work({ ...given, node: remoteNode(client), json })
  }
  if (flags.api !== undefined || flags.key !== undefined) throw usageError('--data-dir excludes --api and --key')
  const engine = await openDirectory(flags, env)
  try {
    await work({ ...given, node: localNode(engine), json })
  } finally {
    await engine.stop()
  }
}

function remoteNode(client: HoldfastClient): OwnerNode {
  return {
    stats: () => client.request('GET', '/stats'),
    // No idle limit, because the server answers only after the collection has ended.
    collect: options => client.request('POST', '/gc', { json: { ...options }, idleMs: 0 }),
    verify: onProgress => followed(client, '/verify', undefined, onProgress),
    backup: ({ keys, ...target }, onProgress) => {
      if (keys !== undefined) throw usageError('--keys requires --data-dir: a server writes the keys into the backup')
      return followed(client, '/backup', target, onProgress)
    },
    reconcile: options => followed(client, '/reconcile', options, () => undefined),
    async *accounts() {
      let seen = 0
      for (let page = 1; ; page++) {
        const answer: JsonObject = await client.request('GET', '/accounts', { query: { page: String(page) } })
        const rows = listOf(answer, 'accounts')
        seen += rows.length
        if (rows.length > 0) yield rows
        if (rows.length === 0 || seen >= (numberOf(answer, 'total') ?? 0)) return
      }
    },
    async *takedowns() {
      for (let after: string | null = null; ; ) {
        const answer: JsonObject = await client.request('GET', '/takedowns', { query: after === null ? {} : { after } })
        yield listOf(answer, 'takedowns')
        if (typeof answer.next !== 'string') return
        after = answer.next
      }
    },
    takeDown: takedown => client.request('POST', '/takedowns', { json: takedown }),
    liftTakedown: ({ cid, path }) =>
      client.request('DELETE', `/takedowns/${encodeURIComponent(cid)}`, { query: path === '' ? {} : { path } }),
    nodes: async () => listOf(await client.request('GET', '/nodes'), 'nodes'),
    retireNode: async (id, to) => {
      await client.request('POST', `/nodes/${encodeURIComponent(id)}/retire`, { json: { to } })
    },
    forgetNode: async (id, isReplaced) => {
      await client.request('POST', `/nodes/${encodeURIComponent(id)}/forget`, { json: { isReplaced } })
    },
    async *lostRecords(account) {
      for (let after: string | null = null; ; ) {
        const query = { ...(account !== undefined && { account }), ...(after !== null && { after }), limit: '1000' }
        const answer: JsonObject = await client.request('GET', '/lost', { query })
        yield listOf(answer, 'records')
        if (typeof answer.next !== 'string') return
        after = answer.next
      }
    },
  }
}

/** Reports the progress of a long operation, and returns its result. */
async function followed(
  client: HoldfastClient,
  path: string,
  json: object | undefined,
  onProgress: (bytes: number) => void,
): Promise<JsonObject> {
  const headers = { accept: 'application/x-ndjson' }
  for await (const line of client.lines('POST', path, { headers, json })) {
    const { done, ...outcome } = line
    if (done === true) return outcome
    if (typeof line.error === 'string') throw new HoldfastError('UNAVAILABLE', `${line.message} (${line.code})`)
    onProgress(numberOf(line, 'bytes') ?? 0)
  }
  throw new HoldfastError('UNAVAILABLE', 'the answer broke off before its end')
}

function localNode(engine: Engine): OwnerNode {
  return {
    stats: async () => ({ ...(await engine.stats()) }),
    collect: async options => ({ ...(await engine.collect(options)) }),
    verify: async onProgress => ({ ...(await engine.verify({ onProgress: ({ bytes }) => onProgress(bytes) })) }),
    backup: async ({ directory, ...options }, onProgress) => ({
      ...(await engine.backup(directory, { ...options, onProgress: ({ bytes }) => onProgress(bytes) })),
    }),
    reconcile: async options => ({ ...(await engine.reconcile(options)) }),
    async *takedowns() {
      for (let after: string | null = null; ; ) {
        const { rows, next } = await engine.takedowns.page({ after, limit: 1000 })
        yield rows.map(row => ({ ...row, at: isoTime(row.at) }))
        if (next === null) return
        after = next
      }
    },
    takeDown: async takedown => {
      const { at, pending, ...taken } = await engine.takedowns.add(takedown)
      return { ...taken, at: isoTime(at), ...shownPending(pending) }
    },
    liftTakedown: async target => ({ removed: true, ...shownPending((await engine.takedowns.remove(target)).pending) }),
    nodes: async () => (await engine.nodes.list()).map(nodeRow),
    retireNode: (id, to) => engine.nodes.retire(id, { to }),
    forgetNode: (id, isReplaced) => engine.nodes.forget(id, { isReplaced }),
    async *lostRecords(account) {
      for (let after: string | null = null; ; ) {
        const { rows, next } = await engine.nodes.lost({ after, limit: 1000, account })
        yield rows.map(({ accountId, statusReason, ...row }) => ({ account: accountId, reason: statusReason, ...row }))
        if (next === null) return
        after = next
      }
    },
    async *accounts() {
      for await (const accounts of engine.accounts.pages()) {
        for (const account of accounts) {
          const usage = await engine.pins.usage(account.id)
          yield [{ ...accountRow(account), usage }]
        }
      }
    },
  }
}

/**
 * Starts an engine without networking.
 * @throws HoldfastError `NOT_FOUND` if there is no data directory; `DATA_DIR_IN_USE` if a server uses the directory
 */
async function openDirectory(flags: DirectoryFlags, env: Environment): Promise<Engine> {
  const { dataDir, config } = readDirectorySettings(flags, env)
  const network = { ...config.network, enabled: false }
  return createEngine({ ...config, network, dataDir, environment: process.env, ...serverAdapters }).catch(
    (error: unknown) => {
      if (!isHoldfastError(error, 'DATA_DIR_IN_USE')) throw error
      const advice = 'omit --data-dir and set HOLDFAST_API_KEY to a key of the owner (for another machine also --api)'
      throw new HoldfastError('DATA_DIR_IN_USE', `${error.message}: to use that server, ${advice}`, { cause: error })
    },
  )
}

function shownPending(pending: readonly PendingNode[]): { pending?: readonly PendingNode[] } {
  return pending.length === 0 ? {} : { pending }
}
