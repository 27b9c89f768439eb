import { HoldfastError } from '../../src/domain/errors.ts'
import type { JsonObject } from '../client/index.ts'
import { accountTable } from './account-lines.ts'
import type { GivenTo } from './all-commands.ts'
import { listOf, numberOf, objectIn, textOf } from './api-command.ts'
import { print, printJson, printRows } from './output.ts'
import { followed, ownerCommand } from './owner-node.ts'
import { countOf, formatBytes, formatTable, printable } from './printed-text.ts'
import { ProgressBar } from './progress-bar.ts'

export const stats = ownerCommand<GivenTo<'stats'>>(async ({ client, json }) => {
  const answer = await client.request('GET', '/stats')
  if (json) printJson(answer)
  else print(formatTable(statsLines(answer)))
})

export const collect = ownerCommand<GivenTo<'gc'>>(async ({ client, flags, json }) => {
  const options = { graceSeconds: flags.grace, endUndo: flags['end-undo'] || undefined }
  // No idle limit, because the server answers only after the collection has ended.
  const freed = await client.request('POST', '/gc', { json: options, idleMs: 0 })
  if (json) {
    printJson(freed)
    return
  }
  print(`freed ${amount(freed)} of ${countOf(numberOf(freed, 'roots') ?? 0, 'root')}`)
  const kept = numberOf(freed, 'keptBytes') ?? 0
  if (kept > 0) print(`undo periods keep ${formatBytes(kept)}: holdfast gc --end-undo ends them`)
})

export const verify = ownerCommand<GivenTo<'verify'>>(async ({ client, json }) => {
  const { bytes } = objectIn(objectIn(await client.request('GET', '/stats'), 'blocks'), 'durable')
  const bar = new ProgressBar('checking', typeof bytes === 'number' ? bytes : null)
  const checked = followed(client, '/verify', undefined, done => bar.update(done))
  const outcome = await checked.finally(() => bar.end())
  const damaged = listOf(outcome, 'damaged')
  const count = numberOf(outcome, 'damagedBlocks') ?? damaged.length
  if (json) {
    printJson(outcome)
  } else {
    for (const block of damaged) {
      const roots = Array.isArray(block.roots) ? block.roots.join(', ') : ''
      print(printable(`${textOf(block, 'cid')}  ${textOf(block, 'reason')}; needed by ${roots || 'nothing'}`))
    }
    if (count > damaged.length) print(`and ${count - damaged.length} more`)
    print(`checked ${amount(outcome)}, ${count} damaged`)
  }
  if (count > 0) throw new HoldfastError('BLOCK_DAMAGED', `damage in ${countOf(count, 'block')}`)
})

export const accounts = ownerCommand<GivenTo<'accounts'>>(async ({ client, json }) => {
  let seen = 0
  for (let page = 1; ; page++) {
    const answer = await client.request('GET', '/accounts', { query: { page: String(page) } })
    const rows = listOf(answer, 'accounts')
    if (rows.length === 0) return
    printRows(rows, json, () => accountTable(rows, { withHeader: page === 1 }))
    seen += rows.length
    if (seen >= (numberOf(answer, 'total') ?? 0)) return
  }
})

function statsLines(answer: JsonObject): string[][] {
  const pins = objectIn(answer, 'pins')
  const roots = objectIn(answer, 'roots')
  const [durable, dropped] = [objectIn(objectIn(answer, 'blocks'), 'durable'), objectIn(roots, 'dropped')]
  const states = (of: JsonObject): string =>
    Object.entries(of)
      .map(([state, value]) => `${state} ${typeof value === 'number' ? value : textOf(value as JsonObject, 'count')}`)
      .join(', ')
  return [
    ['accounts', textOf(answer, 'accounts')],
    ['pins', states(pins)],
    ['roots', states(roots)],
    [
      'stored',
      `${formatBytes(numberOf(durable, 'bytes') ?? 0)} in ${countOf(numberOf(durable, 'count') ?? 0, 'block')}`,
    ],
    [
      'garbage',
      `${countOf(numberOf(answer, 'garbageBlocks') ?? 0, 'block')}, and what ${countOf(numberOf(dropped, 'count') ?? 0, 'dropped root')} had alone`,
    ],
    ['database', formatBytes(numberOf(answer, 'databaseBytes') ?? 0)],
    ['peers', textOf(answer, 'peers')],
  ]
}

function amount(counted: JsonObject): string {
  return `${formatBytes(numberOf(counted, 'bytes') ?? 0)} in ${countOf(numberOf(counted, 'blocks') ?? 0, 'block')}`
}
