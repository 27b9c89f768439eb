import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { askAll } from './clients/node-client.ts'
import { cidOfFile, fill } from './services/filled.ts'
import { serviceOf, startStandalone } from './services/holdfast.ts'
import { type Call, call, type Service } from './services/service.ts'

const PAIRS: Readonly<Record<Scale, number>> = { full: 20_000, quick: 4_000, tiny: 40 }
/** CIDs of each kind. Each is asked for many times, so that no kind is in a cache more often. */
const CIDS: Readonly<Record<Scale, number>> = { full: 500, quick: 500, tiny: 10 }
/** Pairs of uploads. Each content is sent once, because an upload makes it known. */
const UPLOADS: Readonly<Record<Scale, number>> = { full: 3_000, quick: 600, tiny: 10 }
const BYTES = 4_096
const CONNECTIONS = 16
/** Differences that the measurement must find in the times of refusals and of uploads. */
const PLANTED_MS = { refusal: 0.5, upload: 3 }
/** The largest distance for private content, and the least for the planted difference. */
const BOUNDS = { private: 0.05, planted: 0.1 }

const SURFACES = {
  file: (gateway: string, cid: string) => gateway + cid,
  block: (gateway: string, cid: string) => `${gateway}${cid}?format=raw`,
  car: (gateway: string, cid: string) => `${gateway}${cid}?format=car`,
  providers: (gateway: string, cid: string) => new URL(`/routing/v1/providers/${cid}`, gateway).href,
} as const
type Surface = keyof typeof SURFACES
const NAMES = Object.keys(SURFACES) as Surface[]
const METRICS = [...NAMES, 'upload'] as const

interface Times {
  hidden: number[]
  absent: number[]
}

/**
 * Returns the distance between the times of two kinds of requests: that of the area under the ROC curve from a half. With
 * 0, a time tells nothing about the kind of its request. With 0.5, it tells the kind for sure.
 */
export function distanceOf(ones: readonly number[], others: readonly number[]): number {
  const all = [...ones.map(ms => ({ ms, isOne: true })), ...others.map(ms => ({ ms, isOne: false }))]
  all.sort((a, b) => a.ms - b.ms)
  let rankSum = 0
  for (let from = 0; from < all.length; ) {
    let to = from
    while (to < all.length && all[to]?.ms === all[from]?.ms) to++
    // Equal times share their mean rank, counted from 1.
    const rank = (from + 1 + to) / 2
    rankSum += rank * all.slice(from, to).filter(({ isOne }) => isOne).length
    from = to
  }
  const wins = rankSum - (ones.length * (ones.length + 1)) / 2
  return Math.abs(wins / (ones.length * others.length) - 0.5)
}

/** Returns a function that asks on one connection for a URL that is refused, and returns the time in ms. */
function asker(agent: http.Agent): (url: string) => Promise<number> {
  return url =>
    new Promise((resolve, reject) => {
      const began = performance.now()
      const request = http.get(url, { agent }, response => {
        response.resume()
        response.on('end', () => {
          if (response.statusCode === 200 && !url.includes('/routing/')) reject(new Error(`${url} was served`))
          else resolve(performance.now() - began)
        })
      })
      request.on('error', reject)
    })
}

/** Creates an account. Returns its request for an upload. */
async function strangerOf({ url, headers }: Call, api: string): Promise<Call> {
  const login = { email: 'stranger@example.org', password: 'the password of a stranger' }
  const send = (path: string, body: object): Promise<string> =>
    call(
      { method: 'POST', url: api + path, headers: { ...headers, 'content-type': 'application/json' } },
      Buffer.from(JSON.stringify(body)),
    )
  await send('/admin/v1/accounts', { ...login, plan: 'unlimited' })
  const { token } = JSON.parse(await send('/api/v3/auth/login', login)) as { token: string }
  return { method: 'POST', url, headers: { authorization: `Bearer ${token}` } }
}

/** Times uploads of content that another account has, and of content that nobody has. */
async function timeUploads(service: Service, stranger: Call, pairs: number): Promise<Times> {
  const hidden = Array.from({ length: pairs }, () => randomBytes(BYTES))
  await askAll(service.upload('file'), hidden, CONNECTIONS)
  const times: Times = { hidden: [], absent: [] }
  let sent = 0
  const isHiddenFirst = (pair: number): boolean => pair % 2 === 0
  const files = hidden.flatMap((one, pair) =>
    isHiddenFirst(pair) ? [one, randomBytes(BYTES)] : [randomBytes(BYTES), one],
  )
  await askAll(stranger, files, 1, ms => {
    const isHidden = isHiddenFirst(Math.floor(sent / 2)) === (sent % 2 === 0)
    times[isHidden ? 'hidden' : 'absent'].push(ms)
    sent++
  })
  return times
}

function rowsOfTimes(metric: string, { hidden, absent }: Times, plantedMs: number): Measurement[] {
  const planted = hidden.map(ms => ms + plantedMs)
  const row = { metric, unit: '', better: 'lower' as const }
  const control = { metric: `${metric}-planted`, unit: '', better: 'higher' as const }
  return [
    { ...row, subject: 'private', values: [distanceOf(hidden, absent)] },
    { ...row, subject: 'bound', values: [BOUNDS.private] },
    { ...control, subject: 'planted', values: [distanceOf(planted, absent)] },
    { ...control, subject: 'bound', values: [BOUNDS.planted] },
  ]
}

async function measure({ dir, scale, progress, signal }: RunOptions): Promise<Measurement[]> {
  const data = join(dir, 'data')
  await mkdir(data)
  const started = await startStandalone(data)
  const service = serviceOf(started)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  try {
    const headers = { ...started.headers, 'content-type': 'application/json' }
    const url = `${started.server.url}/api/v3/users/me`
    await call({ method: 'PUT', url, headers }, Buffer.from('{"defaultVisibility":"private"}'))
    const hidden = await fill(service, CIDS[scale], BYTES)
    const absent = hidden.map(() => cidOfFile(randomBytes(BYTES)))
    await service.startReading?.()
    const ask = asker(agent)
    const measurements: Measurement[] = []
    for (const metric of NAMES) {
      const times: Times = { hidden: [], absent: [] }
      for (let pair = 0; pair < PAIRS[scale]; pair++) {
        signal.throwIfAborted()
        // In turns, and each kind comes first as often as the other.
        const kinds = pair % 2 === 0 ? (['hidden', 'absent'] as const) : (['absent', 'hidden'] as const)
        for (const kind of kinds) {
          const cid = (kind === 'hidden' ? hidden : absent)[pair % hidden.length] ?? ''
          times[kind].push(await ask(SURFACES[metric](started.gateway, cid)))
        }
      }
      progress(`${metric}: ${PAIRS[scale]} pairs`)
      measurements.push(...rowsOfTimes(metric, times, PLANTED_MS.refusal))
    }
    const stranger = await strangerOf(service.upload('file'), started.server.url)
    const uploads = await timeUploads(service, stranger, UPLOADS[scale])
    measurements.push(...rowsOfTimes('upload', uploads, PLANTED_MS.upload))
    return measurements
  } finally {
    agent.destroy()
    await service.stop()
  }
}

export const timing: Bench = {
  name: 'timing',
  isOnce: true,
  minutes: 5,
  describe: scale =>
    `times of refusals to a stranger: ${PAIRS[scale].toLocaleString('en')} pairs of a private and an absent CID, and of ` +
    `${UPLOADS[scale].toLocaleString('en')} pairs of uploads. The figure is |AUC - 0.5|. As a control, ` +
    `${PLANTED_MS.refusal} ms are added to each private one, and ${PLANTED_MS.upload} ms to an upload`,
  targets: METRICS.flatMap(metric => [
    { subject: 'private', metric, against: 'bound', atLeast: 1 },
    { subject: 'planted', metric: `${metric}-planted`, against: 'bound', atLeast: 1 },
  ]),
  run: measure,
}
