import type { HoldfastClient, Pin, Status } from '../client/index.ts'
import { withApi } from './api-command.ts'
import { print, printJson } from './output.ts'
import { ProgressBar } from './progress-bar.ts'
import type { Environment } from './settings.ts'

export function pin(args: readonly string[], env: Environment): Promise<boolean> {
  const grammar = {
    values: ['name', 'cluster', 'timelock'],
    lists: ['origin'],
    switches: ['wait'],
    words: { what: 'a CID', min: 1, max: 1 },
  } as const
  return withApi(args, env, grammar, async ({ client, flags, lists, switches, words: [cid = ''], json }) => {
    const origins = lists.origin.length === 0 ? undefined : lists.origin
    const { name, cluster, timelock } = flags
    let answer: Pin | Status = await client.pins.add(cid, { name, cluster, timelock, origins })
    if (switches.has('wait')) answer = await untilPinned(client, answer)
    if (json) printJson(answer)
    else print(`${answer.cid}  ${answer.status ?? 'pinned'}`)
  })
}

async function untilPinned(client: HoldfastClient, pin: Pin): Promise<Pin | Status> {
  const bar = new ProgressBar(`fetching ${pin.cid}`, null)
  const onProgress = (status: Pin | Status): void => bar.update('bytes' in status ? status.bytes : 0)
  return client.pins.untilPinned(pin, { onProgress }).finally(() => bar.end())
}
