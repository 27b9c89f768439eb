const DEEPEST_CAUSE = 8

export function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < DEEPEST_CAUSE; cause = cause.cause) {
    causes.push(cause)
  }
  return causes
}
