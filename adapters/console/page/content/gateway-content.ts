import { uriOfText } from '../../../../src/domain/byte-text.ts'

/** An entry of a folder, as the gateway lists it. */
export interface FolderEntry {
  name: string
  type: 'file' | 'directory' | 'symlink' | 'other'
  /** Bytes of a file, or of the whole DAG of a folder. */
  size: number
}

export interface FolderPage {
  entries: FolderEntry[]
  /** Name after which the next page begins. Null on the last page. */
  next: string | null
}

export interface ContentHead {
  isFolder: boolean
  /** Media type without parameters. */
  type: string
  bytes: number
}

/**
 * Returns the URL of a content on the gateway's own origin.
 *
 * @param names path below the content
 */
export function contentAt(
  gateway: string,
  cid: string,
  names: readonly string[] = [],
  query: Readonly<Record<string, string>> = {},
): string {
  const path = [cid, ...names].map(uriOfText).join('/')
  const search = new URLSearchParams(query).toString()
  return `${gateway}/ipfs/${path}${search && `?${search}`}`
}

/** Returns the type and size of a content. Throws an error for the user if the gateway refuses. */
export async function gatewayHead(url: string, signal: AbortSignal): Promise<ContentHead> {
  const { headers, redirected, url: final } = await ask(url, { method: 'HEAD', signal })
  const [type = ''] = (headers.get('content-type') ?? '').split(';', 1)
  // The gateway redirects a folder to the same path with a slash.
  const isFolder = redirected && new URL(final).pathname.endsWith('/')
  return { isFolder, type, bytes: Number(headers.get('content-length') ?? 0) }
}

/** Returns one page of a folder. Throws an error for the user if the gateway refuses. */
export async function folderPage(
  gateway: string,
  [cid, ...names]: readonly [string, ...string[]],
  { after, signal }: { after: string | null; signal: AbortSignal },
): Promise<FolderPage> {
  const query = { format: 'json', ...(after !== null && { after }) }
  const response = await ask(contentAt(gateway, cid, names, query), { signal })
  return (await response.json()) as FolderPage
}

async function ask(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, credentials: 'omit' }).catch(error => {
    if (init.signal?.aborted === true) throw error
    throw new Error('The gateway cannot be reached.')
  })
  if (!response.ok) throw new Error(`The gateway does not serve this content (HTTP ${response.status}).`)
  return response
}
