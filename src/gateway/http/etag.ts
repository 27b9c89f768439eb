/** Checks whether an `If-None-Match` header lists the ETag, by weak comparison. */
export function matchesAny(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  const own = opaque(etag)
  return tagsIn(header).some(tag => opaque(tag) === own)
}

/** Checks an `If-Range` header. A date never matches, because content has no modification date. */
export function matchesStrongly(header: string | undefined, etag: string): boolean {
  return header === undefined || (header.trim() === etag && !etag.startsWith('W/'))
}

function tagsIn(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
