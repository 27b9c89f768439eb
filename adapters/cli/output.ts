const USUAL_COLUMNS = 80

export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Returns null if standard output is not a terminal. */
export function terminalColumns(): number | null {
  return process.stdout.isTTY === true ? (process.stdout.columns ?? USUAL_COLUMNS) : null
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

/** Prints each row as a line of JSON, or all rows as a table. */
export function printRows(rows: readonly object[], json: boolean, table: () => string): void {
  if (json) for (const row of rows) printJson(row)
  else print(table())
}

/** Exits when the reader of standard output closes the pipe, as `| head` does, and fails if a file cannot be written. */
export function endWithReader(): void {
  if (!process.stdout.listeners('error').includes(end)) process.stdout.on('error', end)
}

function end({ code, message }: NodeJS.ErrnoException): never {
  if (code === 'EPIPE') process.exit(0)
  console.error(`holdfast: cannot write to standard output: ${message}`)
  process.exit(1)
}

export function isoTime(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
