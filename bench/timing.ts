import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import type { Bench, Measurement, RunOptions, Scale } from './bench.ts'
import { cidOfFile, fill } from './services/filled.ts'
import { serviceOf, startStandalone } from './services/holdfast.ts'
import { call } from './services/service.ts'

const PAIRS: Readonly<Record<Scale, number>> = { full: 20_000, quick: 4_000, tiny: 40 }
/** CIDs of each kind. Each is asked for many times, so that no kind is in a cache more often. */
const CIDS: Readonly<Record<Scale, number>> = { full: 500, quick: 500, tiny: 10 }
const BYTES = 4_096
/** A difference that the measurement must find. */
const PLANTED_MS = 0.5
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
      const times: Record<'hidden' | 'absent', number[]> = { hidden: [], absent: [] }
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
      const planted = times.hidden.map(ms => ms + PLANTED_MS)
      const row = { metric, unit: '', better: 'lower' as const }
      const control = { metric: `${metric}-planted`, unit: '', better: 'higher' as const }
      measurements.push(
        { ...row, subject: 'private', values: [distanceOf(times.hidden, times.absent)] },
        { ...row, subject: 'bound', values: [BOUNDS.private] },
        { ...control, subject: 'planted', values: [distanceOf(planted, times.absent)] },
        { ...control, subject: 'bound', values: [BOUNDS.planted] },
      )
    }
    return measurements
  } finally {
    agent.destroy()
    await service.stop()
  }
}

export const timing: Bench = {
  name: 'timing',
  isOnce: true,
  minutes: 4,
  describe: scale =>
    `times of refusals to a stranger: ${PAIRS[scale].toLocaleString('en')} pairs of a private and an absent CID. ` +
    `The figure is |AUC - 0.5|. As a control, ${PLANTED_MS} ms are added to each private one`,
  targets: NAMES.flatMap(metric => [
    { subject: 'private', metric, against: 'bound', atLeast: 1 },
    { subject: 'planted', metric: `${metric}-planted`, against: 'bound', atLeast: 1 },
  ]),
  run: measure,
}
