import type { HoldfastClient, JsonObject } from '../client/index.ts'
import { connect, textOf } from './api-command.ts'
import { ownerBase } from './api-settings.ts'
import type { Finding } from './doctor-command.ts'
import { localUrl } from './listener.ts'
import { listenerOf, portProblem } from './port-check.ts'
import type { ServerSettings } from './settings.ts'

const LONGEST_MS = 3_000
const MOST_SKEW_MS = 1_000

const REMEDIES: Readonly<Record<string, string>> = {
  full: 'delete pins, or give the disk more space',
  failed: 'read the log for the failed write, then restart the server',
  'no-catalogue': 'start PostgreSQL, and check database in the configuration',
  'clock-skew': 'synchronize the clocks of this machine and of PostgreSQL',
  'no-storage': 'mount the disk that the reason names',
  stopping: 'wait until the server has stopped, and start it',
}

/** Checks the ports, and asks the server if one runs. */
export async function checkServer(settings: ServerSettings, key: string | undefined): Promise<Finding[]> {
  const { host, port, gatewayPort } = settings
  const base = localUrl(host, port)
  const about = port === 0 ? null : await answerOf(`${base}/api/v3`)
  if (about?.name !== 'holdfast') {
    const ports = [...new Set([port, gatewayPort ?? 0])]
    return Promise.all(ports.map(each => checkPort(host, each)))
  }
  const findings: Finding[] = [
    { check: `port ${port}`, level: 'ok', text: `Holdfast ${textOf(about, 'version')} answers`, remedy: '' },
    readiness(await answerOf(`${base}/ready`)),
  ]
  if (key === undefined) return findings
  return [...findings, await clock(connect(ownerBase({ base: `${base}/api/v3`, key })))]
}

async function checkPort(host: string, port: number): Promise<Finding> {
  const check = `port ${port}`
  const problem = await portProblem(host, port)
  if (problem === null) return { check, level: 'ok', text: 'free', remedy: '' }
  if (problem !== 'EADDRINUSE') {
    const remedy = 'choose another --host, or a port from 1024'
    return { check, level: 'fault', text: `cannot listen on ${host}: ${problem}`, remedy }
  }
  const text = `taken by ${listenerOf(port) ?? 'another program'}`
  return { check, level: 'fault', text, remedy: 'stop it, or choose another port with --port or --gateway-port' }
}

function readiness(answer: JsonObject | null): Finding {
  const check = 'server'
  const status = answer === null ? 'silent' : textOf(answer, 'status')
  if (status !== 'ok') {
    const reason = answer === null ? '' : textOf(answer, 'reason')
    const text = `not ready: ${status}${reason === '' ? '' : ` (${reason})`}`
    return { check, level: 'fault', text, remedy: REMEDIES[status] ?? 'read the log of the server' }
  }
  if (answer?.network !== 'no-peers') return { check, level: 'ok', text: 'ready', remedy: '' }
  const remedy = 'allow outgoing connections, and check network in the configuration'
  return { check, level: 'warning', text: 'ready, but without peers on the public network', remedy }
}

async function clock(client: HoldfastClient): Promise<Finding> {
  const check = 'clock'
  try {
    const { clockSkewMs }: JsonObject = await client.request('GET', '/stats')
    const skew = typeof clockSkewMs === 'number' ? clockSkewMs : 0
    if (Math.abs(skew) <= MOST_SKEW_MS) return { check, level: 'ok', text: 'as that of the database', remedy: '' }
    const text = `${skew} ms ahead of the clock of PostgreSQL`
    return { check, level: 'fault', text, remedy: 'synchronize both clocks' }
  } catch (error) {
    const text = `not checked: ${(error as Error).message}`
    return { check, level: 'warning', text, remedy: 'give a key of the owner' }
  }
}

async function answerOf(url: string): Promise<JsonObject | null> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(LONGEST_MS), redirect: 'manual' })
    const answer: unknown = await response.json()
    return typeof answer === 'object' ? (answer as JsonObject | null) : null
  } catch {
    return null
  }
}
