export function markdownTable(head: readonly string[], lines: ReadonlyArray<readonly string[]>): string {
  return [head, head.map((_, column) => (column === 0 ? '---' : '---:')), ...lines]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** Three significant digits; large figures keep their whole part. */
export function shown(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))
}
