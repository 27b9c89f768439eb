import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EngineConfig } from '../../src/index.ts'
import { fixedPort } from './fixed-port.ts'
import { ServerProcess } from './server-process.ts'

/** API key of the owner on each node. */
export const KEY = 'fleet-0123456789abcdef0123456789abcdef'
/** Node processes serve a whole file of tests, so they may live longer than one test. */
const LONGEST_MS = 600_000
const cluster = { label: '', region: '', country: null, gateways: [] }

/** A standalone server on a shared database. It can be killed, and restarts at the same address. */
export class NodeProcess {
  readonly id: string
  readonly dataDir: string
  /** Base URL of its API, the same after each start. */
  readonly url: string
  readonly config: EngineConfig
  /** Seconds that it serves after SIGTERM. Applies from its next start. */
  drainSeconds = 60
  /** Entry point of an older version, for its next start. Default: this version. */
  main: string | undefined
  /** Further flags of the server, for its next start. */
  flags: readonly string[] = []
  readonly #port: number
  #server: ServerProcess | null = null

  constructor(id: string, directory: string, port: number, shared: EngineConfig) {
    this.id = id
    this.dataDir = join(directory, id)
    this.#port = port
    this.url = `http://127.0.0.1:${port}`
    const expected = shared.clusters?.some(({ copies = 1 }) => copies > 1) ? { expected: ['a', 'b', 'c'] } : {}
    this.config = { ...shared, node: { id, url: this.url, ...expected } }
  }

  /** Each start writes this configuration file. */
  get configFile(): string {
    return `${this.dataDir}.json`
  }

  get server(): ServerProcess {
    if (this.#server === null) throw new Error(`the node ${this.id} is not running`)
    return this.#server
  }

  /** Base URL of its gateway, the same after each start. */
  get gateway(): string {
    return `http://127.0.0.1:${this.#port + 1}`
  }

  /** Starts the node, with further variables and flags of Node.js. @throws if it ends before it listens */
  async start(env: Record<string, string> = {}, nodeArgs: readonly string[] = []): Promise<void> {
    await writeFile(this.configFile, JSON.stringify(this.config))
    const ports = ['--port', String(this.#port), '--gateway-port', String(this.#port + 1)]
    const args = ['--config', this.configFile, ...ports, '--no-console', ...this.flags]
    const given = {
      HOLDFAST_BOOTSTRAP_KEY: KEY,
      HOLDFAST_GATEWAY_THREADS: '1',
      HOLDFAST_DRAIN_SECONDS: `${this.drainSeconds}`,
      ...env,
    }
    this.#server = await ServerProcess.start(this.dataDir, args, given, LONGEST_MS, nodeArgs, undefined, this.main)
  }

  /** Kills the process with SIGKILL, as a crash would. Resolves when it has ended. */
  async kill(): Promise<void> {
    this.server.signal('SIGKILL')
    await this.server.ended()
    this.#server = null
  }

  /** Calls the API as the owner. A body that is neither a form nor bytes is sent as JSON. */
  call<Json>(method: string, path: string, body?: object, more: Record<string, string> = {}) {
    return this.callAt<Json>(this.url, method, path, body, more)
  }

  /** Calls the API at another base URL, such as that of a proxy. Its JSON is null if the answer is not JSON. */
  async callAt<Json>(url: string, method: string, path: string, body?: object, more: Record<string, string> = {}) {
    const isRaw = body === undefined || body instanceof FormData || body instanceof Uint8Array
    const headers = { 'x-api-key': KEY, ...(isRaw ? {} : { 'content-type': 'application/json' }), ...more }
    const given = (isRaw ? (body ?? null) : JSON.stringify(body)) as NonNullable<RequestInit['body']> | null
    const answer = await fetch(`${url}${path}`, { method, headers, body: given })
    const text = await answer.text()
    const isJson = /^application\/(.*\+)?json/.test(answer.headers.get('content-type') ?? '')
    return { status: answer.status, headers: answer.headers, json: (isJson ? JSON.parse(text) : null) as Json }
  }

  /** Starts an upload to a cluster and sends the content, but not the end of the form. `end` sends it. */
  begin(clusterId: string, content: Uint8Array): BegunUpload {
    const boundary = 'of-an-upload'
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n`
    const rest = Promise.withResolvers<void>()
    const body = async function* () {
      yield Buffer.from(head)
      yield content
      await rest.promise
      yield Buffer.from(`\r\n--${boundary}--\r\n`)
    }
    const headers = {
      'x-api-key': KEY,
      'x-cluster': clusterId,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    }
    const answer = fetch(`${this.url}/api/v3/files`, {
      method: 'POST',
      headers,
      body: ReadableStream.from(body()),
      duplex: 'half',
    } as RequestInit).then(
      async answered => ({
        status: answered.status,
        code: ((await answered.json()) as { code?: string }).code ?? null,
      }),
      () => ({ status: null, code: null }),
    )
    return { end: rest.resolve, answer }
  }
}

export interface BegunUpload {
  end(): void
  /** Both null if the connection broke. */
  answer: Promise<{ status: number | null; code: string | null }>
}

/** A cluster for each of at most three nodes. */
const CLUSTERS = ['first', 'second', 'third']

/**
 * Starts two nodes: `a` keeps the cluster `first`, and `b` keeps `second`, the default cluster. With three nodes, `c`
 * keeps `third`. The caller closes them.
 * @param main entry point of an older version
 */
export async function openNodeProcesses(
  database: string,
  config: EngineConfig = {},
  count: 2 | 3 = 2,
  main?: string,
): Promise<{ a: NodeProcess; b: NodeProcess; nodes: NodeProcess[]; close(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-nodes-'))
  const ids = ['a', 'b', 'c'].slice(0, count)
  const shared = {
    database,
    clusters: ids.map((node, i) => ({ ...cluster, id: CLUSTERS[i] ?? '', node })),
    defaultCluster: 'second',
    ...config,
  }
  const nodes: NodeProcess[] = []
  for (const id of ids) nodes.push(new NodeProcess(id, directory, await fixedPort(1), shared))
  for (const node of nodes) node.main = main
  const [a, b, ...others] = nodes as [NodeProcess, NodeProcess, ...NodeProcess[]]
  const close = async (): Promise<void> => {
    await ServerProcess.killAll()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    await a.start()
    for (const other of [b, ...others]) {
      // Each node decrypts secrets that the others have encrypted in the database.
      await mkdir(other.dataDir, { mode: 0o700 })
      await copyFile(join(a.dataDir, 'data.key'), join(other.dataDir, 'data.key'))
      await other.start()
    }
  } catch (error) {
    await close()
    throw error
  }
  return { a, b, nodes, close }
}
