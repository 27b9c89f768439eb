import type { Account } from '../../src/index.ts'
import type { JsonObject } from '../client/index.ts'
import { numberOf, objectIn, textOf } from './api-command.ts'
import { isoTime } from './output.ts'
import { formatBytes, formatTable } from './printed-text.ts'

export function accountRow({ id, email, name, role, plan, disabled, createdAt }: Account): JsonObject {
  return { id, email, name, role, plan, disabled, createdAt: isoTime(createdAt) }
}

export function accountTable(rows: readonly JsonObject[], { withHeader }: { withHeader: boolean }): string {
  const withUsage = rows.some(row => 'usage' in row)
  const usageHeader = withUsage ? ['PINS', 'STORED'] : []
  const header = ['EMAIL', 'PLAN', 'ROLE', ...usageHeader, 'SINCE', 'ID']
  const cells = rows.map(row => accountCells(row, withUsage))
  return formatTable(withHeader ? [header, ...cells] : cells, withUsage ? new Set([3, 4]) : new Set())
}

/** Formats a new account with its key, which nobody can see again. */
export function newAccountLines({ email, id, plan, key }: Record<'email' | 'id' | 'plan' | 'key', string>): string {
  const rows = [
    ['account', email],
    ['plan', plan],
    ['id', id],
    ['key', key],
  ]
  return `${formatTable(rows)}\nSave the key: it is not shown again.`
}

function accountCells(row: JsonObject, withUsage: boolean): string[] {
  const usage = objectIn(row, 'usage')
  return [
    textOf(row, 'email'),
    textOf(row, 'plan'),
    row.disabled === true ? 'disabled' : textOf(row, 'role'),
    ...(withUsage ? [textOf(usage, 'pins'), formatBytes(numberOf(usage, 'storedBytes') ?? 0)] : []),
    textOf(row, 'createdAt').slice(0, 10),
    textOf(row, 'id'),
  ]
}
