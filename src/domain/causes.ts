const DEEPEST_CAUSE = 8

/** Returns an error and the chain of its causes. The chain ends at the first cause that is not an error. */
export function causesOf(error: unknown): (Error & { code?: unknown })[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < DEEPEST_CAUSE; cause = cause.cause) {
    causes.push(cause)
  }
  return causes
}
