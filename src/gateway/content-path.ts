import type { CID } from 'multiformats/cid'
import { parseCid } from '../domain/cid.ts'
import { HoldfastError } from '../domain/errors.ts'

/** `/ipfs/<cid>/<names…>` of a request. */
export interface ContentPath {
  cid: CID
  /** As it was sent. */
  root: string
  /** Decoded, without empty ones. */
  names: readonly string[]
  hasTrailingSlash: boolean
}

const MOUNT = '/ipfs/'

/**
 * @param path percent-encoded, without query
 * @throws HoldfastError `NOT_FOUND` outside `/ipfs/`, `INVALID_CID`, `INVALID_PATH` for malformed percent-encoding.
 */
export function parseContentPath(path: string): ContentPath {
  if (!path.startsWith(MOUNT)) throw new HoldfastError('NOT_FOUND', 'content is served below /ipfs/')
  const [root = '', ...rest] = path.slice(MOUNT.length).split('/').map(decode)
  if (root === '') throw new HoldfastError('INVALID_CID', 'path needs a content identifier after /ipfs/')
  return {
    cid: parseCid(root, 'path'),
    root: root.trim(),
    names: rest.filter(name => name !== ''),
    hasTrailingSlash: path.endsWith('/'),
  }
}

/** The same path in its one canonical spelling, safe in a header. */
export function formatContentPath(root: string, names: readonly string[]): string {
  return MOUNT + [root, ...names].map(encodeURIComponent).join('/')
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new HoldfastError('INVALID_PATH', 'path is not valid percent-encoding of UTF-8', { cause })
  }
}
