/**
 * Reads a source while its consumer is busy with what came before, at most `ahead` items in advance. What the source
 * throws comes after the items before it. A consumer that leaves early does not wait for a source that has stalled:
 * the source is closed at its next item.
 */
export async function* readAhead<T>(source: AsyncIterable<T>, ahead: number): AsyncGenerator<T> {
  const items: T[] = []
  let ended = false
  let failure: { error: unknown } | null = null
  let left = false
  let roomThere = (): void => undefined
  let itemThere = (): void => undefined

  const read = async (): Promise<void> => {
    try {
      for await (const item of source) {
        items.push(item)
        itemThere()
        while (items.length >= ahead && !left) {
          await new Promise<void>(resolve => {
            roomThere = resolve
          })
        }
        if (left) return
      }
    } catch (error) {
      failure = { error }
    } finally {
      ended = true
      itemThere()
    }
  }

  void read()
  try {
    for (;;) {
      while (items.length > 0) {
        const [item] = items.splice(0, 1) as [T]
        roomThere()
        yield item
      }
      if (ended) break
      await new Promise<void>(resolve => {
        itemThere = resolve
      })
    }
    if (failure !== null) throw (failure as { error: unknown }).error
  } finally {
    left = true
    roomThere()
  }
}
