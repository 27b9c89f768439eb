const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Runs work that reads pieces. At a signal, the next read fails at once, so that the work can clean up. The signal ends
 * the process when the work has ended.
 */
export async function untilInterrupted<Result>(
  pieces: AsyncIterable<Uint8Array>,
  work: (pieces: AsyncIterable<Uint8Array>) => Promise<Result>,
): Promise<Result> {
  let heard: NodeJS.Signals | undefined
  let endRead: () => void = () => undefined
  const hear = (signal: NodeJS.Signals): void => {
    heard = signal
    endRead()
  }
  async function* read(): AsyncGenerator<Uint8Array, void> {
    const iterator = pieces[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value } = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
          endRead = () => reject(new Error(`${heard} ended the read`))
          if (heard === undefined) iterator.next().then(resolve, reject)
          else endRead()
        })
        if (done) return
        yield value
      }
    } finally {
      // After a signal, a pending read of the source may never end.
      if (heard === undefined) await iterator.return?.()
    }
  }
  for (const signal of SIGNALS) process.on(signal, hear)
  try {
    return await work(read())
  } finally {
    for (const signal of SIGNALS) process.off(signal, hear)
    if (heard !== undefined) process.kill(process.pid, heard)
  }
}
