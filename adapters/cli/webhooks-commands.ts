import type { GivenTo } from './all-commands.ts'
import { apiCommand, cellsOf, listOf, textOf } from './api-command.ts'
import { print, printJson, printRows } from './output.ts'
import { formatTable } from './printed-text.ts'

export const addWebhook = apiCommand<GivenTo<'webhook add'>>(async ({ client, words: [url = ''], json }) => {
  const made = await client.request('POST', '/webhooks', { json: { url } })
  if (json) printJson(made)
  else print(`${textOf(made, 'id')}  ${textOf(made, 'url')}\nsecret, shown this once: ${textOf(made, 'secret')}`)
})

export const listWebhooks = apiCommand<GivenTo<'webhook list'>>(async ({ client, json }) => {
  const rows = listOf(await client.request('GET', '/webhooks'), 'webhooks')
  const cells = cellsOf(rows, ['id', 'createdAt', 'waiting', 'dropped', 'url'])
  printRows(rows, json, () => formatTable([['ID', 'SINCE', 'WAITING', 'DROPPED', 'URL'], ...cells], new Set([2, 3])))
})

export const webhookLog = apiCommand<GivenTo<'webhook log'>>(async ({ client, words: [id = ''], json }) => {
  const path = `/webhooks/${encodeURIComponent(id)}/deliveries`
  const rows = listOf(await client.request('GET', path), 'deliveries')
  const cells = cellsOf(rows, ['at', 'event', 'state', 'attempts', 'uploadId', 'lastError'])
  const header = ['AT', 'EVENT', 'STATE', 'ATTEMPTS', 'UPLOAD', 'LAST ERROR']
  printRows(rows, json, () => formatTable([header, ...cells], new Set([3])))
})

export const removeWebhook = apiCommand<GivenTo<'webhook remove'>>(async ({ client, words: [id = ''], json }) => {
  const answer = await client.request('DELETE', `/webhooks/${encodeURIComponent(id)}`)
  if (json) printJson(answer)
  else print(`${id}  removed`)
})
