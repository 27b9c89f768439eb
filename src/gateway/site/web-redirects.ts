import { textOfUri, uriOfText } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'

export interface Redirect {
  /** A percent-encoded path from the root, with an optional query, or a URL. */
  to: string
  status: RedirectStatus
}

export type RedirectStatus = (typeof STATUSES)[number]

interface Rule {
  from: readonly string[]
  to: string
  status: RedirectStatus
}

const STATUSES = [200, 301, 302, 303, 307, 308, 404, 410, 451] as const
export const LARGEST_REDIRECTS = 64 * 1024

/** Maximum number of characters of a percent-encoded target, before and after the expansion of placeholders. */
const LONGEST_TARGET = 8192

export class WebRedirects {
  readonly #rules: readonly Rule[]

  /** @throws HoldfastError `REDIRECTS_INVALID`, with the line number in the message */
  constructor(bytes: Uint8Array) {
    if (bytes.length > LARGEST_REDIRECTS)
      throw invalid(`redirects file size cannot exceed ${LARGEST_REDIRECTS / 1024} KiB`)
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    } catch {
      throw invalid('the file is not UTF-8')
    }
    this.#rules = text.split(/\r?\n/).flatMap((line, index) => parseLine(line, index + 1) ?? [])
  }

  /**
   * Returns the target of the first matching rule, with expanded placeholders, or null.
   *
   * @param names text forms of the path's names
   */
  match(names: readonly string[]): Redirect | null {
    const rule = this.#rules.find(({ from }) => matches(from, names))
    return rule === undefined ? null : { to: fill(rule.to, capture(rule.from, names)), status: rule.status }
  }
}

function parseLine(line: string, number: number): Rule | null {
  const content = line.trim()
  if (content === '' || content.startsWith('#')) return null
  const [from = '', given, status = '301', ...more] = content.split(/\s+/)
  // A header can hold few other characters, and clients read these differently.
  const to = given?.replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  const wrong = (reason: string): HoldfastError => invalid(`line ${number}: ${reason}`)
  if (!from.startsWith('/')) throw wrong('the path to redirect from must begin with a slash')
  if (to === undefined) throw wrong('the target is missing')
  if (to.length > LONGEST_TARGET) throw wrong(`the target has more than ${LONGEST_TARGET} characters`)
  if (more.length > 0 && !more[0]?.startsWith('#')) throw wrong('a rule has only from, to and status')
  const code = STATUSES.find(known => String(known) === status)
  if (code === undefined) throw wrong(`status must be one of ${STATUSES.join(', ')}`)
  const isPath = to.startsWith('/') && !to.startsWith('//')
  if (!isPath && (code < 300 || code > 399 || !/^https?:\/\//.test(to))) {
    throw wrong('the target must be a path, or for a redirect an http or https URL')
  }
  const names = from.slice(1).split('/').map(decode)
  if (names.some((name, index) => name.includes('*') && (name !== '*' || index < names.length - 1))) {
    throw wrong('an asterisk must be the last name of the path')
  }
  return { from: names.filter((name, index) => name !== '' || index < names.length - 1), to, status: code }
}

/** Compares without encoding, because a file can have thousands of rules. */
function matches(pattern: readonly string[], names: readonly string[]): boolean {
  const fits = pattern.at(-1) === '*' ? names.length >= pattern.length - 1 : names.length === pattern.length
  return fits && pattern.every((name, index) => name === '*' || isPlaceholder(name) || name === names[index])
}

/** Returns the percent-encoded values of the placeholders of a matching pattern. */
function capture(pattern: readonly string[], names: readonly string[]): Map<string, string> {
  const values = new Map<string, string>()
  for (const [index, expected] of pattern.entries()) {
    if (expected === '*') values.set('splat', names.slice(index).map(uriOfText).join('/'))
    else if (isPlaceholder(expected)) values.set(expected.slice(1), uriOfText(names[index] ?? ''))
  }
  return values
}

function isPlaceholder(name: string): boolean {
  return name.startsWith(':') && name.length > 1
}

/** @throws HoldfastError `REDIRECTS_INVALID` if the result is too long for a header */
function fill(to: string, values: ReadonlyMap<string, string>): string {
  let length = to.length
  return to.replace(/:([A-Za-z]\w*)/g, (placeholder, name: string) => {
    const value = values.get(name) ?? placeholder
    length += value.length - placeholder.length
    if (length > LONGEST_TARGET) throw invalid(`the target of a rule has more than ${LONGEST_TARGET} characters`)
    return value
  })
}

function decode(segment: string): string {
  try {
    return textOfUri(segment)
  } catch {
    return segment
  }
}

function invalid(reason: string): HoldfastError {
  return new HoldfastError('REDIRECTS_INVALID', `could not parse _redirects: ${reason}`)
}
