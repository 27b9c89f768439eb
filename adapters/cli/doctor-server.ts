import type { JsonObject } from '../client/index.ts'
import { connect, listOf, numberOf, textOf } from './api-command.ts'
import { apiBase, ownerBase, readApiSettings } from './api-settings.ts'
import { type CheckResult, fault, fine, warning } from './check-result.ts'
import { localUrl } from './listener.ts'
import { signalWithin } from './real-time.ts'
import type { Environment, ServerSettings } from './settings.ts'

const LONGEST_MS = 3_000
const MOST_SKEW_MS = 1_000

const REMEDIES: Readonly<Record<string, string>> = {
  full: 'delete pins, or give the disk more space',
  failed: 'read the log for the failed write, then restart the server',
  'no-claim': 'stop this process: its node was given up, or another process runs as it',
  'no-catalogue': 'start PostgreSQL, and check database in the configuration',
  'clock-skew': 'synchronize the clocks of this machine and of PostgreSQL',
  'no-storage': 'mount the disk that the reason names',
  stopping: 'wait until the server has stopped, and start it',
}

/** Returns the version of the Holdfast that answers on the API's port, or null. */
export async function runningVersion({ host, port }: ServerSettings): Promise<string | null> {
  const about = port === 0 ? null : await answerOf(`${localUrl(host, port)}/api/v3`)
  return about?.name === 'holdfast' ? textOf(about, 'version') : null
}

/** Checks the state of the running server, its peers, and whether clients reach it at its public URL. */
export async function checkRunning({ host, port, config }: ServerSettings): Promise<CheckResult[]> {
  const base = localUrl(host, port)
  const answer = await answerOf(`${base}/ready`)
  const status = answer === null ? 'silent' : textOf(answer, 'status')
  const reason = answer === null ? '' : textOf(answer, 'reason')
  const problem = `not ready: ${status}${reason === '' ? '' : ` (${reason})`}`
  return [
    status === 'ok' ? fine('server', 'ready') : fault('server', problem, REMEDIES[status] ?? 'read its log'),
    await network(base, answer?.network === 'no-peers', config.network?.enabled === false),
    ...(config.publicUrl === undefined ? [] : [await reach(config.publicUrl)]),
  ]
}

async function network(base: string, isAlone: boolean, isOff: boolean): Promise<CheckResult> {
  if (isOff) return fine('network', 'off')
  const remedy = 'allow outgoing connections, and check network in the configuration'
  if (isAlone) return warning('network', 'no peers on the public network', remedy)
  const peers = numberOf((await answerOf(`${base}/api/v3/peers`)) ?? {}, 'count') ?? 0
  return fine('network', `peers: ${peers}`)
}

async function reach(publicUrl: string): Promise<CheckResult> {
  if ((await answerOf(`${publicUrl}/api/v3`))?.name === 'holdfast') return fine('publicUrl', `${publicUrl} answers`)
  const text = `no Holdfast answers at ${publicUrl}/api/v3 from this machine`
  return warning('publicUrl', text, 'check DNS, the certificate and the proxy')
}

/** Asks the running server, as its owner, about its clock and the headers of proxies. */
export async function askOwner(
  settings: ServerSettings,
  key: string | undefined,
  env: Environment,
): Promise<CheckResult[]> {
  try {
    const api = `${localUrl(settings.host, settings.port)}/api/v3`
    // A key in the environment belongs to the server that the environment names.
    const isOthers = apiBase({}, env, api) !== api
    const given = { ...env, ...(isOthers && { HOLDFAST_API_KEY: '' }) }
    const client = connect(ownerBase(readApiSettings({ api, ...(key !== undefined && { key }) }, given)))
    const [stats, failures]: JsonObject[] = await Promise.all([
      client.request('GET', '/stats'),
      client.request('GET', '/failures'),
    ])
    const skew = numberOf(stats ?? {}, 'clockSkewMs')
    return [...skewed(skew), ...proxied(listOf(failures ?? {}, 'failures'))]
  } catch (error) {
    const text = `clock and proxy headers of the server are not checked: ${(error as Error).message}`
    return [warning('owner', text, 'give a key of the owner with --key')]
  }
}

function skewed(skew: number | null): CheckResult[] {
  // With SQLite there is no second clock.
  if (skew === null) return []
  if (Math.abs(skew) <= MOST_SKEW_MS) return [fine('clock', 'as that of PostgreSQL')]
  return [fault('clock', `${skew} ms ahead of the clock of PostgreSQL`, 'synchronize both clocks with NTP')]
}

function proxied(failures: readonly JsonObject[]): CheckResult[] {
  if (!failures.some(failure => textOf(failure, 'message').startsWith('trustedProxies is 0'))) return []
  const text = 'requests came through a proxy, but trustedProxies is 0: all clients share one address'
  return [fault('proxy', text, 'set trustedProxies to the number of proxies before this server')]
}

async function answerOf(url: string): Promise<JsonObject | null> {
  try {
    const response = await fetch(url, { signal: signalWithin(LONGEST_MS), redirect: 'manual' })
    const answer: unknown = await response.json()
    return typeof answer === 'object' ? (answer as JsonObject | null) : null
  } catch {
    return null
  }
}
