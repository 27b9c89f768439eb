export interface AcceptedType {
  /** Lower case, without parameters. */
  type: string
  parameters: ReadonlyMap<string, string>
  quality: number
}

/** Parses an `Accept` header. Returns the types by descending quality, otherwise in their order. */
export function parseAccept(header: string | undefined): AcceptedType[] {
  if (header === undefined) return []
  return header
    .split(',')
    .map(parseType)
    .filter(({ type, quality }) => type !== '' && quality > 0)
    .sort((a, b) => b.quality - a.quality)
}

/** Returns whether the client is a browser, which names HTML explicitly. */
export function wantsHtml(header: string | undefined): boolean {
  return parseAccept(header).some(({ type }) => type === 'text/html')
}

function parseType(text: string): AcceptedType {
  const [type = '', ...rest] = text.split(';').map(part => part.trim())
  const parameters = new Map(
    rest.map(part => {
      const [name = '', value = ''] = part.split('=').map(piece => piece.trim())
      return [name.toLowerCase(), value.replace(/^"(.*)"$/, '$1')]
    }),
  )
  const quality = Number(parameters.get('q') ?? 1)
  return { type: type.toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 }
}
