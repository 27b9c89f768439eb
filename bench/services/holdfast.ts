import { randomBytes } from 'node:crypto'
import { ChildServer } from '../child-server.ts'
import { builtServer } from './built-server.ts'
import { readerThreads } from './reader-threads.ts'
import { call, type Service, type ServiceKind } from './service.ts'

export const holdfast: ServiceKind = { name: 'http', start: dir => startHoldfast(dir) }

export function holdfastOn(cores: number): ServiceKind {
  return { name: `cores-${cores}`, start: dir => startHoldfast(dir, cores) }
}

async function startHoldfast(dir: string, cores?: number): Promise<Service> {
  return serviceOf(await startStandalone(dir, { cores }))
}

export function serviceOf({ server, headers, gateway }: Awaited<ReturnType<typeof startStandalone>>): Service {
  const api = `${server.url}/api/v3`
  let reading: Promise<void> | undefined
  return {
    pids: [server.pid],
    isComparable: true,
    upload: kind => ({ method: 'POST', url: `${api}/files${kind === 'tree' ? '/directory-dag' : ''}`, headers }),
    rootOf: answer => cidOf(JSON.parse(answer)),
    // Later rounds find the threads already started.
    startReading: () => {
      reading ??= readerThreads(gateway)
      return reading
    },
    read: path => ({ method: 'GET', url: gateway + path, headers: {} }),
    status: cid => ({ method: 'GET', url: `${api}/status/${cid}`, headers }),
    list: limit => ({ method: 'GET', url: `${api}/users/me/uploads?limit=${limit}`, headers }),
    remove: cid => ({ method: 'DELETE', url: `${api}/files/remove/${cid}`, headers }),
    async collect() {
      const json = { ...headers, 'content-type': 'application/json' }
      const url = `${server.url}/admin/v1/gc`
      await call({ method: 'POST', url, headers: json }, Buffer.from('{"graceSeconds":0}'))
    },
    stop: () => server.stop(),
  }
}

/**
 * Starts the built standalone server. `headers` have its first key; `gateway` ends in `/ipfs/`. @param config path of a
 * configuration file
 */
export async function startStandalone(
  dir: string,
  { cores, config }: { cores?: number | undefined; config?: string } = {},
): Promise<{ server: ChildServer; headers: Record<string, string>; gateway: string }> {
  const key = randomBytes(32).toString('hex')
  const env = { ...withoutSettings(process.env), HOLDFAST_BOOTSTRAP_KEY: key }
  const args = ['serve', '--port', '0', '--data-dir', dir, ...(config === undefined ? [] : ['--config', config])]
  const server = await ChildServer.start(await builtServer(), args, env, cores)
  const gateway = await server.said(/^gateway base +(\S+)$/)
  return { server, headers: { authorization: `Bearer ${key}` }, gateway }
}

/** Returns the environment without settings of Holdfast, which would change the measurement. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HOLDFAST_')))
}

export function cidOf(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'cid' in answer && typeof answer.cid === 'string') {
    return answer.cid
  }
  throw new Error(`an upload was answered without a CID: ${JSON.stringify(answer).slice(0, 300)}`)
}
