/** A line, or several, on standard output. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

/** Times as the API prints them. */
export function isoTime(instant: number | null): string | null {
  return instant === null ? null : new Date(instant).toISOString()
}
