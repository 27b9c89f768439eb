import type { HoldfastClient, Pin, Status } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { givenCid, timelockOf } from './content-words.ts'
import { print, printJson } from './output.ts'
import { flaggedVisibility } from './private-content.ts'
import { ProgressBar } from './progress-bar.ts'

export const pin = apiCommand<GivenTo<'pin'>>(async ({ client, flags, words: [word = ''], json }) => {
  const origins = flags.origin.length === 0 ? undefined : flags.origin
  const { name, cluster } = flags
  const timelock = timelockOf(flags.timelock)
  const visibility = await flaggedVisibility(client, flags)
  let answer: Pin | Status = await client.pins.add(givenCid(word), { name, cluster, timelock, visibility, origins })
  if (flags.wait) answer = await untilPinned(client, answer)
  if (json) printJson(answer)
  else print(`${answer.cid}  ${answer.status ?? 'pinned'}`)
})

async function untilPinned(client: HoldfastClient, pin: Pin): Promise<Pin | Status> {
  const bar = new ProgressBar(`fetching ${pin.cid}`, null)
  const onProgress = (status: Pin | Status): void => bar.update('bytes' in status ? status.bytes : 0)
  return client.pins.untilPinned(pin, { onProgress }).finally(() => bar.end())
}
