export function markdownTable(head: readonly string[], lines: ReadonlyArray<readonly string[]>): string {
  return [head, head.map((_, column) => (column === 0 ? '---' : '---:')), ...lines]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** Formats with three significant digits, or as a whole number from 100 on. */
export function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
