import { visibleText } from '../../src/domain/byte-text.ts'

const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB']

/** Formats bytes as `12 B` or `3.4 MB`. 1 kB is 1,000 bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  let value = bytes
  let unit = 'B'
  for (const next of UNITS) {
    // Moves on to the next unit if rounding would give 1000.0.
    if (value < 999.95) break
    value /= 1_000
    unit = next
  }
  return `${value.toFixed(1)} ${unit}`
}

export function countOf(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

/** Shows bytes of names, and replaces characters that control a terminal. */
export const printable = visibleText

export function formatTable(rows: readonly (readonly string[])[], alignRight: ReadonlySet<number> = new Set()): string {
  const shown = rows.map(row => row.map(printable))
  const widths: number[] = []
  for (const row of shown) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length)
  }
  const lines = shown.map(row =>
    row.map((cell, column) => {
      const width = widths[column] ?? 0
      if (alignRight.has(column)) return cell.padStart(width)
      return column === row.length - 1 ? cell : cell.padEnd(width)
    }),
  )
  return lines.map(cells => cells.join('  ').trimEnd()).join('\n')
}
