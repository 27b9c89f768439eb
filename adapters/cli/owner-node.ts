import { createEngine, type Engine, HoldfastError, isHoldfastError } from '../../src/index.ts'
import { ownersApi } from '../../src/wiring/loaded-handlers.ts'
import type { HoldfastClient, JsonObject } from '../client/index.ts'
import { toFetch } from '../fetch/index.ts'
import { connect, listOf, numberOf } from './api-command.ts'
import { ownerBase, readApiSettings } from './api-settings.ts'
import { usageError } from './arguments.ts'
import type { Flags, OWNER_FLAGS } from './command-spec.ts'
import { patientFetch } from './patient-fetch.ts'
import { serverAdapters } from './server-adapters.ts'
import { type DirectoryFlags, type Environment, readDirectorySettings } from './settings.ts'

/** Access to a node through `/admin/v1` of a server, or of an engine in this process. */
export interface OwnerAccess {
  client: HoldfastClient
  /** The engine in this process. Null for a server. */
  engine: Engine | null
  json: boolean
}

/** Returns an owner's command, for the node that the arguments name. */
export function ownerCommand<G extends { flags: Flags<typeof OWNER_FLAGS> }>(
  work: (work: G & OwnerAccess) => Promise<void>,
): (given: G, env: Environment) => Promise<void> {
  return async (given, env) => {
    const { flags } = given
    const { json } = flags
    if (flags['data-dir'] === undefined) {
      if (flags.config !== undefined) throw usageError('--config requires --data-dir')
      const client = connect(ownerBase(readApiSettings(flags, env)), { fetch: await patientFetch() })
      return work({ ...given, client, engine: null, json })
    }
    if (flags.api !== undefined || flags.key !== undefined) throw usageError('--data-dir excludes --api and --key')
    const engine = await openDirectory(flags, env)
    try {
      await work({ ...given, client: clientOf(engine), engine, json })
    } finally {
      await engine.stop()
    }
  }
}

/** Returns a client of an engine in this process. */
function clientOf(engine: Engine): HoldfastClient {
  const api = ownersApi(engine.api)
  const handle = toFetch({ api, gateway: api })
  const inProcess: typeof fetch = (input, init) => handle(new Request(input, init))
  return connect({ base: 'http://localhost/admin/v1', key: 'none' }, { fetch: inProcess })
}

/** Yields the rows of each page of a list. */
export async function* pagesOf(
  client: HoldfastClient,
  path: string,
  field: string,
  query: Readonly<Record<string, string | undefined>> = {},
): AsyncGenerator<readonly JsonObject[], void> {
  for (let after: string | undefined; ; ) {
    const answer: JsonObject = await client.request('GET', path, { query: { ...query, after } })
    yield listOf(answer, field)
    if (typeof answer.next !== 'string') return
    after = answer.next
  }
}

/** Reports the progress of a long operation, and returns its result. */
export async function followed(
  client: HoldfastClient,
  path: string,
  json: object | undefined,
  onProgress: (bytes: number) => void = () => undefined,
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
