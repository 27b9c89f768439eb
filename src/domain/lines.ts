/**
 * Yields the lines of a text in UTF-8, trimmed, without empty ones.
 * @param options.longest maximum size of a line in bytes
 * @param options.tooLong returns the error to throw for a longer line
 */
export async function* linesOf(
  pieces: AsyncIterable<Uint8Array>,
  { longest, tooLong }: { longest: number; tooLong: () => Error },
): AsyncGenerator<string, void, undefined> {
  let parts: Uint8Array[] = []
  let length = 0
  const line = (): string => {
    const text = Buffer.concat(parts).toString('utf8').trim()
    parts = []
    length = 0
    return text
  }
  for await (const piece of pieces) {
    let start = 0
    for (;;) {
      const end = piece.indexOf(0x0a, start)
      const part = piece.subarray(start, end < 0 ? piece.length : end)
      length += part.length
      if (length > longest) throw tooLong()
      parts.push(part)
      if (end < 0) break
      start = end + 1
      const text = line()
      if (text !== '') yield text
    }
  }
  const text = line()
  if (text !== '') yield text
}
