/** Whether an `If-None-Match` names the representation; weak comparison, as the header asks. */
export function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const own = opaque(etag)
  return tagsIn(header).some(tag => opaque(tag) === own)
}

/** Whether an `If-Range` holds: only for the very same bytes. A date never does, since content here has none. */
export function matchesStrongly(header: string | undefined, etag: string): boolean {
  return header === undefined || (header.trim() === etag && !etag.startsWith('W/'))
}

function tagsIn(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
