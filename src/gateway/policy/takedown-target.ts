import { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { parseCid } from '../../ipld/cid.ts'

const LONGEST_PATH = 4096

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
  const path = text
    .split('/')
    .filter(name => name !== '')
    .join('/')
  if (path.length > LONGEST_PATH)
    throw new HoldfastError('VALIDATION', `path is longer than ${LONGEST_PATH} characters`)
  if (path.endsWith('*')) throw new HoldfastError('VALIDATION', 'path cannot end with an asterisk')
  if (!path.isWellFormed()) throw new HoldfastError('VALIDATION', 'path is not well-formed text')
  return path
}
