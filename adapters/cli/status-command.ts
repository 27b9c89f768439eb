import type { Status } from '../client/index.ts'
import type { GivenTo } from './all-commands.ts'
import { apiCommand, listOf, numberOf, textOf } from './api-command.ts'
import { givenCid } from './content-words.ts'
import { print, printJson } from './output.ts'
import { countOf, formatBytes, formatTable } from './printed-text.ts'

export const status = apiCommand<GivenTo<'status'>>(async ({ client, flags, words: [word = ''], json }) => {
  const answer = await client.pins.status(givenCid(word), { cluster: flags.cluster })
  if (json) printJson(answer)
  else print(formatTable(linesOf(answer).filter(([, value]) => value !== '')))
})

export const remove = apiCommand<GivenTo<'rm'>>(async ({ client, flags, words: [word = ''], json }) => {
  const answer = await client.pins.remove(givenCid(word), { cluster: flags.cluster })
  if (json) printJson(answer)
  else print(`${answer.cid}  removed`)
})

function linesOf(answer: Status): [label: string, value: string][] {
  const text = (name: string): string => textOf(answer, name)
  const size = numberOf(answer, 'size')
  const clusters = listOf(answer, 'allocations').map(each => `${textOf(each, 'peer')} ${textOf(each, 'status')}`)
  const reason = text('lastError') || text('reason')
  return [
    ['cid', text('cid')],
    ['name', text('name')],
    ['status', text('status') + (reason === '' ? '' : `: ${reason}`)],
    ['since', text('statusAt')],
    ['size', size === null ? '' : formatBytes(size)],
    [
      'stored',
      `${formatBytes(numberOf(answer, 'bytes') ?? 0)} in ${countOf(numberOf(answer, 'blocks') ?? 0, 'block')}`,
    ],
    ['clusters', [...new Set(clusters)].join(', ')],
    ['uploaded', text('createdAt')],
    ['expires', text('expiresAt') || 'never'],
    ['attempts', text('attempts') === '0' ? '' : text('attempts')],
    ['next attempt', text('nextAttemptAt')],
    ['announced', text('lastAnnounced')],
  ]
}
