/**
 * Reads a source; when the signal aborts, ends at once by throwing its reason, even if the source has stalled. A
 * source that is not read to its end is closed.
 */
export async function* interruptible<T>(
  source: AsyncIterable<T> | Iterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  const pieces = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]()
  // Not Promise.race with one promise for the abort: that would keep every piece for as long as the signal lives.
  let refuse: (reason: unknown) => void = () => undefined
  const abort = (): void => refuse(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  let state: 'asking' | 'between' | 'ended' = 'between'
  try {
    for (;;) {
      signal?.throwIfAborted()
      state = 'asking'
      const { done, value } = await new Promise<IteratorResult<T>>((resolve, reject) => {
        refuse = reject
        Promise.resolve(pieces.next()).then(resolve, reject)
      })
      state = done === true ? 'ended' : 'between'
      if (done === true) return
      yield value
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    if (state !== 'ended') {
      const closed = Promise.resolve(pieces.return?.()).catch(() => undefined)
      // One that has stalled would not let go before its next piece, so its end is not waited for.
      if (state === 'between') await closed
    }
  }
}

/** What the promise comes to, or the signal's reason, thrown, if it aborts first. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
