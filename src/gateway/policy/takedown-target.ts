import { CID } from 'multiformats/cid'
import { canonicalText } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { parseCid } from '../../ipld/cid.ts'
import type { BlockedStatus } from './denylist.ts'
import type { Takedown } from './takedown-lines.ts'

const LONGEST_PATH = 4096
const LONGEST_REASON = 1000

/** Content to take down. */
export interface TakedownRequest {
  /** In any version and multibase. */
  cid: string
  /** Path below the CID, as a text form without percent-encoding. The default covers the block of the CID and everything below. */
  path?: string | undefined
  /** 1 to 1,000 printable characters. */
  reason: string
  /** Default: 410. */
  status?: BlockedStatus | undefined
}

/** Returns the CID in version 1, so all spellings of a CID become equal. */
export function canonical(text: string): string {
  const { code, multihash } = parseCid(text)
  return CID.createV1(code, multihash).toString()
}

/**
 * Removes empty names from a path below a CID.
 *
 * @throws HoldfastError `VALIDATION` if the path is too long, ends with an asterisk or is not well-formed text
 */
export function readPath(text: string): string {
  const path = canonicalText(text)
    .split('/')
    .filter(name => name !== '')
    .join('/')
  if (path.length > LONGEST_PATH)
    throw new HoldfastError('VALIDATION', `path is longer than ${LONGEST_PATH} characters`)
  if (path.endsWith('*')) throw new HoldfastError('VALIDATION', 'path cannot end with an asterisk')
  if (!path.isWellFormed()) throw new HoldfastError('VALIDATION', 'path is not well-formed text')
  return path
}

/** @throws HoldfastError `INVALID_CID`, `VALIDATION` */
export function takedownOf({ cid, path = '', reason, status = 410 }: TakedownRequest, at: number): Takedown {
  const words = reason.trim()
  if (words === '' || words.length > LONGEST_REASON || /\p{Cc}/u.test(words)) {
    throw new HoldfastError('VALIDATION', `reason must be 1 to ${LONGEST_REASON} printable characters`)
  }
  if (status !== 410 && status !== 451) throw new HoldfastError('VALIDATION', 'status must be 410 or 451')
  return { cid: canonical(cid), path: readPath(path), status, reason: words, at }
}
