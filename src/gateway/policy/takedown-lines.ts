import { nextTurn, turnSpent } from '../../concurrency/turns.ts'
import { textOfUri, uriOfText } from '../../domain/byte-text.ts'
import { type BlockedStatus, LIFTED, liftedIn } from './denylist.ts'

/** Content that the operator has taken down and the gateway refuses to serve. */
export interface Takedown {
  cid: string
  /** Path below the CID, as a text form. An empty path covers the block of the CID and everything below. */
  path: string
  status: BlockedStatus
  reason: string
  /** Time in ms since the epoch. */
  at: number
}

const HEADER = 'version: 1\nname: takedowns\n---\n'

export function keyOf({ cid, path }: Pick<Takedown, 'cid' | 'path'>): string {
  return path === '' ? cid : `${cid}/${path}`
}

/** Formats the whole file. Other tasks of the event loop can run between entries. */
export async function textOfTakedowns(entries: Iterable<Takedown>): Promise<string> {
  const lines = [HEADER]
  for (const entry of entries) {
    lines.push(takedownLines(entry))
    if (turnSpent()) await nextTurn()
  }
  return lines.join('')
}

/** Formats a takedown as rules of the denylist. A path needs two rules: one for the path, one for everything below. */
export function takedownLines(entry: Takedown): string {
  return entry.path === ''
    ? entryLine(entry)
    : `${entryLine(entry)}${targetOf(entry)}/* gateway_status:${entry.status}\n`
}

/** Formats the lift of a takedown: a comment of the format, which {@link Denylist} reads. */
export function liftedLine(entry: Takedown): string {
  return `${LIFTED}${targetOf(entry)}\n`
}

/**
 * Parses a file. `isTorn` means an incomplete last write. The caller may drop such a write, which was never
 * acknowledged. `renewed` counts the lines that a later line has made superfluous.
 */
export function readEntries(text: string): { entries: Map<string, Takedown>; renewed: number; isTorn: boolean } {
  const entries = new Map<string, Takedown>()
  let count = 0
  let last: Takedown | null = null
  for (const line of completeLines(text).split('\n')) {
    const entry = readEntry(line)
    const lifted = entry === null ? readTarget(liftedIn(line) ?? '') : null
    if (entry !== null) {
      entries.set(keyOf(entry), entry)
      last = entry
    } else if (lifted !== null) entries.delete(keyOf(lifted))
    else continue
    count++
  }
  const isHalf = last !== null && last.path !== '' && text.endsWith(`\n${entryLine(last)}`)
  return { entries, renewed: count - entries.size, isTorn: isHalf || !text.endsWith('\n') }
}

export function completeLines(text: string): string {
  return text.slice(0, text.lastIndexOf('\n') + 1)
}

function targetOf({ cid, path }: Takedown): string {
  return `/ipfs/${[cid, ...path.split('/').filter(name => name !== '')].map(uriOfText).join('/')}`
}

function entryLine(entry: Takedown): string {
  const { status, reason, at } = entry
  return `${targetOf(entry)} gateway_status:${status} at:${new Date(at).toISOString()} reason:${encodeURIComponent(reason.toWellFormed())}\n`
}

/** Returns null for a line of the header, or the second rule of a path. */
function readEntry(line: string): Takedown | null {
  const match = /^(\S+) gateway_status:(410|451) at:(\S+) reason:(\S+)$/.exec(line)
  const target = readTarget(match?.[1] ?? '')
  if (match === null || target === null) return null
  const [, , status, at = '', reason = ''] = match
  try {
    return {
      ...target,
      status: status === '451' ? 451 : 410,
      reason: decodeURIComponent(reason),
      at: Date.parse(at),
    }
  } catch {
    return null
  }
}

function readTarget(text: string): Pick<Takedown, 'cid' | 'path'> | null {
  const [, cid = '', path = ''] = /^\/ipfs\/([^/\s]+)(?:\/(\S*))?$/.exec(text) ?? []
  try {
    return cid === '' ? null : { cid, path: textOfUri(path) }
  } catch {
    return null
  }
}
