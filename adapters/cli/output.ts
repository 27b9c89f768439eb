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

/** Exits when the reader of standard output closes the pipe, as `| head` does. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

export function isoTime(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
