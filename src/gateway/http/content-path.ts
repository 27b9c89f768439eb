import type { CID } from 'multiformats/cid'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { parseCid } from '../../ipld/cid.ts'

/** What a request asks for, as a root and names below it. */
export interface ContentPath {
  cid: CID
  /** As it was sent. */
  root: string
  /** Decoded, without empty ones. */
  names: readonly string[]
  hasTrailingSlash: boolean
  /** Whether the root has an origin of its own, so that what it holds cannot touch other content in a browser. */
  isIsolated: boolean
  /** What to put before a CID for a link from this path to other content. */
  linkBase: string
}

const MOUNT = '/ipfs/'

/**
 * Reads `/ipfs/<cid>/<names…>`.
 *
 * @param path percent-encoded, without query
 * @throws HoldfastError `NOT_FOUND` outside `/ipfs/`, `INVALID_CID`, `INVALID_PATH` for malformed percent-encoding.
 */
export function parseContentPath(path: string): ContentPath {
  if (!path.startsWith(MOUNT)) throw new HoldfastError('NOT_FOUND', 'content is served below /ipfs/')
  const [root = '', ...rest] = path.slice(MOUNT.length).split('/').map(decode)
  if (root === '') throw new HoldfastError('INVALID_CID', 'path needs a content identifier after /ipfs/')
  const hasTrailingSlash = path.endsWith('/')
  return {
    cid: rootOf(root),
    root: root.trim(),
    names: rest.filter(name => name !== ''),
    hasTrailingSlash,
    isIsolated: false,
    // Relative, so that it holds wherever the gateway is mounted.
    linkBase: '../'.repeat(rest.length) || './',
  }
}

/** Characters of a root that is none that a message repeats. */
const LONGEST_TOLD = 100

function rootOf(text: string): CID {
  try {
    return parseCid(text, 'its root')
  } catch (cause) {
    if (!isHoldfastError(cause)) throw cause
    const path = formatContentPath(text.slice(0, LONGEST_TOLD).toWellFormed(), [])
    throw new HoldfastError('INVALID_CID', `invalid path "${path}": ${cause.message}`, { cause })
  }
}

/**
 * Reads a path below a root that is part of the host name.
 *
 * @param base the gateway's own host, with port
 * @throws HoldfastError as {@link parseContentPath}
 */
export function parseIsolatedPath(label: string, path: string, base: string): ContentPath {
  return {
    cid: parseCid(label, 'host'),
    root: label,
    names: namesIn(path),
    hasTrailingSlash: path.endsWith('/'),
    isIsolated: true,
    linkBase: `//${base}${MOUNT}`,
  }
}

/** @throws HoldfastError `INVALID_PATH` for malformed percent-encoding. */
export function namesIn(path: string): string[] {
  return path
    .split('/')
    .filter(name => name !== '')
    .map(decode)
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
