// Uses the package from TypeScript. Only its types are checked.
import { createServer as createHttpServer } from 'node:http'
import {
  type ApiRequest,
  type ApiResponse,
  type Clock,
  createEngine,
  type Engine,
  type EngineOptions,
  type ErrorCode,
  isHoldfastError,
  type ListPage,
  type Logger,
  type PinRecord,
  type PlanOptions,
  SCOPES,
} from 'holdfast'
import { HoldfastClient, type ListedUpload } from 'holdfast/client'
import { toFetch } from 'holdfast/fetch'
import { createHandler, createServer } from 'holdfast/node-http'

const clock: Clock = { now: () => Date.now(), after: () => () => {} }
const logger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
const plan: PlanOptions = {
  timelock: true,
  clusters: '*',
  maxFileBytes: null,
  maxDirectoryBytes: null,
  maxDirectoryFiles: null,
  maxStorageBytes: null,
  maxPins: null,
  maxKeys: 100,
  pageLimit: { default: 10, max: 100 },
  rateLimit: { requests: 1, windowSeconds: 1 },
  accountRateLimit: null,
}
const options: EngineOptions = { dataDir: 'data', clock, logger, plans: { mine: plan } }

export async function use(): Promise<string[]> {
  await using engine: Engine = await createEngine(options)
  const off: () => void = engine.events.on('pin:created', ({ record }) => logger.info({ cid: record.cid }, 'pinned'))
  off()
  const account = await engine.accounts.create({ email: 'a@example.org', plan: 'mine' })
  await engine.keys.create(account.id, { name: 'main', scopes: SCOPES })
  const { record, created }: { record: PinRecord; created: boolean } = await engine.pins.upload(Buffer.from('x'), {
    account: account.id,
    onProgress: bytes => logger.debug({ bytes }, 'progress'),
  })
  const page: ListPage = await engine.pins.list({ account: account.id })
  const answer: (request: ApiRequest) => Promise<ApiResponse> = engine.api
  createServer(engine, { prefix: '/p' }).close()
  createHttpServer(createHandler({ api: answer, gateway: engine.gateway })).close()
  const fetched: (request: Request) => Promise<Response> = toFetch(engine, { prefix: '/p' })
  await fetched(new Request('http://localhost/p/health'))
  return created ? page.items.map(({ cid }) => cid) : [record.cid]
}

export async function names(): Promise<(string | null)[]> {
  const client = new HoldfastClient({ base: 'https://pins.example.org', key: 'k' })
  await client.files.upload(new Blob(['x']), { cluster: 'cl0-global', timelock: new Date() })
  const rows: ListedUpload[] = []
  for await (const row of client.pins.all({ expiring: true })) rows.push(row)
  return rows.map(({ customName }) => customName)
}

export function codeOf(error: unknown): ErrorCode | undefined {
  // @ts-expect-error: not a code of Holdfast
  isHoldfastError(error, 'NO_SUCH_CODE')
  return isHoldfastError(error) ? error.code : undefined
}
