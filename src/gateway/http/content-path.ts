import type { CID } from 'multiformats/cid'
import { textOfUri, uriOfText } from '../../domain/byte-text.ts'
import { HoldfastError, isHoldfastError } from '../../domain/errors.ts'
import { parseCid } from '../../ipld/cid.ts'
import { hintForRoot } from './root-hint.ts'

export interface ContentPath {
  cid: CID
  /** The root as the client wrote it. */
  root: string
  /** Names below the root, as text forms, without empty names. */
  names: readonly string[]
  hasTrailingSlash: boolean
  /** True if the root has its own host name, and therefore its own origin in browsers. */
  isIsolated: boolean
  /** URL prefix for links from a page at this path to another CID. */
  linkBase: string
}

const MOUNT = '/ipfs/'

/**
 * Parses `/ipfs/<cid>/<names…>`.
 *
 * @param path percent-encoded, without the query
 * @throws HoldfastError `NOT_FOUND` for a path outside `/ipfs/`; `INVALID_CID`; `INVALID_PATH` for malformed
 * percent-encoding
 */
export function parseContentPath(path: string): ContentPath {
  if (!path.startsWith(MOUNT)) throw new HoldfastError('NOT_FOUND', noContentAt(path))
  const [root = '', ...rest] = path.slice(MOUNT.length).split('/').map(decodeName)
  if (root === '') throw new HoldfastError('INVALID_CID', 'path needs a content identifier after /ipfs/')
  const hasTrailingSlash = path.endsWith('/')
  return {
    cid: rootOf(root, rest),
    root: root.trim(),
    names: rest.filter(name => name !== ''),
    hasTrailingSlash,
    isIsolated: false,
    // The link is relative, because the gateway may be mounted below a path prefix.
    linkBase: '../'.repeat(rest.length) || './',
  }
}

function noContentAt(path: string): string {
  const api = /^\/(api|admin)\//.test(path) ? '; the API has another address, "API base" in the start message' : ''
  return `content is served below /ipfs/${api}`
}

/** Maximum number of characters of an invalid root in an error message. */
const LONGEST_QUOTED = 100

function rootOf(text: string, rest: readonly string[]): CID {
  try {
    return parseCid(text, 'its root')
  } catch (cause) {
    if (!isHoldfastError(cause)) throw cause
    const path = formatContentPath(text.slice(0, LONGEST_QUOTED).toWellFormed(), [])
    const hint = hintForRoot(text, rest)
    throw new HoldfastError('INVALID_CID', `invalid path "${path}": ${cause.message}${hint}`, { cause })
  }
}

/**
 * Parses the path of a request whose host name contains the root.
 *
 * @param base host name of the gateway, with the port
 * @throws HoldfastError `INVALID_CID`; `INVALID_PATH` for malformed percent-encoding
 */
export function parseIsolatedPath(label: string, path: string, base: string): ContentPath {
  return {
    cid: hostRoot(label),
    root: label,
    names: namesIn(path),
    hasTrailingSlash: path.endsWith('/'),
    isIsolated: true,
    linkBase: `//${base}${MOUNT}`,
  }
}

function hostRoot(label: string): CID {
  try {
    return parseCid(label, 'host')
  } catch (cause) {
    if (!isHoldfastError(cause)) throw cause
    throw new HoldfastError('INVALID_CID', `${cause.message}${hintForRoot(label, [])}`, { cause })
  }
}

/**
 * Splits a percent-encoded path into the text forms of its names, without empty names.
 *
 * @throws HoldfastError `INVALID_PATH` for malformed percent-encoding
 */
export function namesIn(path: string): string[] {
  return path
    .split('/')
    .filter(name => name !== '')
    .map(decodeName)
}

export function formatContentPath(root: string, names: readonly string[]): string {
  return MOUNT + [root, ...names].map(uriOfText).join('/')
}

function decodeName(segment: string): string {
  try {
    return textOfUri(segment)
  } catch (cause) {
    throw new HoldfastError('INVALID_PATH', 'path is not valid percent-encoding', { cause })
  }
}
