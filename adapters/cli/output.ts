const USUAL_COLUMNS = 80

/** A line, or several, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Of the terminal that standard output is; null for what is none. */
export function terminalColumns(): number | null {
  return process.stdout.isTTY === true ? (process.stdout.columns ?? USUAL_COLUMNS) : null
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

/** Ends the program when nobody reads standard output any more, as behind `| head`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Times as the API prints them. */
export function isoTime(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
