import { textOfUnicode, textOfUri } from '../../src/domain/byte-text.ts'
import { isCid } from '../../src/ipld/cid.ts'
import { usageError } from './arguments.ts'
import { timeNow } from './real-time.ts'

const HOUR_MS = 3_600_000
const UNITS_MS = new Map([
  ['h', HOUR_MS],
  ['d', 24 * HOUR_MS],
  ['w', 7 * 24 * HOUR_MS],
])

/**
 * Returns the CID of `CID`, `/ipfs/CID`, `ipfs://CID` or a URL of content.
 * @throws HoldfastError `VALIDATION` if the word has no CID, or a path behind it
 */
export function givenCid(word: string): string {
  const [cid = '', ...path] = namesOf(word.trim())
  if (!isCid(cid)) {
    throw usageError(`${word} is no CID, such as bafy… or Qm…: holdfast ls --name TEXT finds the CID of a name`)
  }
  if (path.length > 0) throw usageError(`${word} has a path: only a whole CID can be pinned, listed or removed`)
  return cid
}

/** Returns the instant after a duration such as `12h`, `7d` or `2w`. Returns any other text as it is. */
export function timelockOf<Text extends string | undefined>(text: Text): Text | string {
  const [, count, unit = ''] = /^\+?(\d{1,5})\s?(h|d|w)(?:ours?|ays?|eeks?)?$/i.exec(text?.trim() ?? '') ?? []
  const ms = Number(count) * (UNITS_MS.get(unit.toLowerCase()) ?? Number.NaN)
  return Number.isNaN(ms) ? text : new Date(timeNow() + ms).toISOString()
}

/**
 * Splits `CID/path`, `/ipfs/CID/path`, `ipfs://CID/path` or a URL of content into the CID and the names. A gateway
 * names the CID in the path of its URLs, or in their host.
 * @throws HoldfastError `VALIDATION` for any other URL
 */
export function namesOf(word: string): string[] {
  if (!/^https?:/i.test(word)) return namesIn(textOfUnicode(word.replace(/^(ipfs:\/\/|\/ipfs\/)/, '')))
  const { pathname, hostname } = URL.canParse(word) ? new URL(word) : { pathname: '', hostname: '' }
  const [, inHost] = /^(\w+)\.ipfs\./.exec(hostname) ?? []
  const [, ...inPath] = pathname.split('/ipfs/')
  const names = namesIn(inHost === undefined ? inPath.join('/ipfs/') : inHost + pathname)
  try {
    if (names.length > 0) return namesIn(names.map(textOfUri).join('/'))
  } catch {
    // The URL has an invalid escape. The error below names the URL.
  }
  throw usageError(`${word} is not a URL of content, which has /ipfs/CID in its path`)
}

function namesIn(place: string): string[] {
  return place.split('/').filter(name => name !== '')
}
