/** Checks whether a browser runs scripts in content of this media type. */
export function isActive(type: string): boolean {
  const [essence = ''] = type.split(';', 1)
  return ACTIVE.has(essence) || essence.endsWith('+xml')
}

const ACTIVE = new Set(['text/html', 'text/xml', 'application/xml', 'text/xsl'])
