import { uriOfText } from '../../domain/byte-text.ts'
import { isCid } from '../../ipld/cid.ts'

/** Maximum number of characters of a path in a hint. */
const LONGEST_PATH = 1024
/** The text of a CID in base58 with changed letters, in version 0 or 1. Other bases of CIDs ignore the case. */
const BASE58 = /^(?:qm[0-9a-z]{44}|z[0-9a-z]{48})$/i

/**
 * Returns a sentence that corrects an invalid root, to follow an error message. Empty if the mistake is unknown.
 *
 * @param root percent-decoded first name of the path
 * @param rest percent-decoded names after the root
 */
export function hintForRoot(root: string, rest: readonly string[]): string {
  const [cid = '', ...inside] = root.split('/').filter(name => name !== '' && name !== 'ipfs')
  if (BASE58.test(cid)) return '. A CID in base58 is case-sensitive: copy it again, or use its version 1'
  const path = `/ipfs/${[cid, ...[...inside, ...rest].map(uriOfText)].join('/')}`
  return root.includes('/') && path.length <= LONGEST_PATH && isCid(cid) ? `. Use ${path}` : ''
}
