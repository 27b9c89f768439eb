import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../../src/domain/errors.ts'
import { type ApiClient, type JsonObject, jsonBody } from './api-client.ts'
import { numberOf, pathPart, textOf, withApi } from './api-command.ts'
import { print, printJson } from './output.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Environment } from './settings.ts'

/** Between two looks at a pin: sooner at first. */
const FIRST_LOOK_MS = 500
const LATER_LOOK_MS = 5_000

/** `pin`. */
export function pin(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = {
    values: ['name', 'cluster', 'timelock'],
    lists: ['origin'],
    switches: ['wait'],
    words: { what: 'a CID', min: 1, max: 1 },
  } as const
  return withApi(args, env, grammar, async ({ client, flags, lists, switches, words: [cid = ''], json }) => {
    const origins = lists.origin.length === 0 ? undefined : lists.origin
    const body = jsonBody({ customName: flags.name, cl: flags.cluster, timelock: flags.timelock, origins })
    let answer = await client.request('POST', `/files/pin/${pathPart(cid)}`, { body })
    if (switches.has('wait')) answer = await untilPinned(client, answer)
    if (json) printJson(answer)
    else print(`${textOf(answer, 'cid')}  ${textOf(answer, 'status') || 'pinned'}`)
  })
}

/**
 * Looks until everything is stored. What is here by then is shown as it grows; how much it will be, nobody knows.
 *
 * @throws HoldfastError `UNAVAILABLE` once the server does not try any further.
 */
async function untilPinned(client: ApiClient, first: JsonObject): Promise<JsonObject> {
  const cid = textOf(first, 'cid')
  const bar = new ProgressBar(`fetching ${cid}`, null)
  const cl = textOf(first, 'clusterId') || undefined
  let answer = first
  try {
    for (let wait = FIRST_LOOK_MS; isUnfinished(answer); wait = Math.min(wait * 1.5, LATER_LOOK_MS)) {
      bar.update(numberOf(answer, 'bytes') ?? 0)
      await sleep(wait)
      answer = await client.request('GET', `/status/${pathPart(cid)}`, { query: { cl } })
    }
  } finally {
    bar.end()
  }
  if (textOf(answer, 'status') === 'pinned') return answer
  const reason = textOf(answer, 'lastError') || textOf(answer, 'reason')
  throw new HoldfastError('UNAVAILABLE', `${cid} is ${textOf(answer, 'status')}${reason === '' ? '' : `: ${reason}`}`)
}

/** A failed one that is tried again by itself may still come. */
function isUnfinished(answer: JsonObject): boolean {
  const status = textOf(answer, 'status')
  return status === 'queued' || status === 'pinning' || (status === 'failed' && textOf(answer, 'nextAttemptAt') !== '')
}
