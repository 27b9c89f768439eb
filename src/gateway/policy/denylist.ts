import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { bytesOfText, textOfUri } from '../../domain/byte-text.ts'
import { HoldfastError } from '../../domain/errors.ts'
import { base58OfMultihash, cidOf, HASH, identityOf, multihashOfBase58, parseCid } from '../../ipld/cid.ts'
import { keyOfCid, keyOfMultihash } from '../../ipld/multihash-key.ts'

/** HTTP status for blocked content. */
export type BlockedStatus = 410 | 451

interface Rule {
  /** Line number of the rule. If several rules match, the highest line number wins. */
  line: number
  /** HTTP status for blocked content. Null if the rule is an exception, which allows the content. */
  status: BlockedStatus | null
}

interface BlockRule extends Rule {
  /** Codec of the CID in the rule. */
  codec: number
}

interface PathRule extends BlockRule {
  path: string
  forms: Forms
  isPrefix: boolean
}

/** The content that a line names. */
interface Target {
  /** Multihash. */
  key: string
  codec: number
  /** Path below the CID, as a text form. Empty for the block itself. */
  path: string
}

/** A path in the same order: as given, in NFC and in NFD. */
type Forms = readonly [given: string, composed: string, decomposed: string]

interface Hints {
  status: BlockedStatus
}

const HEADER_BYTES = 1024 ** 2
const LONGEST_LINE = 2 * 1024 ** 2
/** Begins a comment that removes the rules of one CID or path. Other readers of the format ignore the comment. */
export const LIFTED = '# lifted '

/** Returns the target of a line that removes rules. */
export function liftedIn(line: string): string | null {
  return line.startsWith(LIFTED) ? line.slice(LIFTED.length) : null
}

/** A list in the compact denylist format. IPNS names are ignored, because the gateway does not serve IPNS. */
export class Denylist {
  readonly #blocks = new Map<string, BlockRule>()
  /** Multihashes that rules of several codecs name. */
  readonly #shared = new Set<string>()
  readonly #paths = new Map<string, PathRule[]>()
  readonly #doubleHashes = new Map<string, Rule>()
  /** Numbers of the lines that cannot be parsed, counted from 1. */
  readonly rejected: number[] = []
  isEmpty = true
  readonly #hints: Hints
  readonly #lifts: boolean
  #nextLine: number

  /**
   * @param options.lifts true for a list in which {@link LIFTED} lines remove rules
   * @throws HoldfastError `CONFIG_INVALID` if the header names a version other than 1
   */
  constructor(text: string, { lifts = false } = {}) {
    const { hints, body, firstLine } = splitHeader(text)
    this.#hints = hints
    this.#lifts = lifts
    this.#nextLine = firstLine
    this.append(body)
  }

  /** Adds rules, which take precedence over older rules. */
  append(body: string): void {
    for (const line of body.split('\n')) {
      const number = this.#nextLine++
      const trimmed = line.trim()
      const lifted = this.#lifts ? liftedIn(trimmed) : null
      if (lifted !== null) this.#lift(lifted)
      if (trimmed === '' || trimmed.startsWith('#')) continue
      if (line.length > LONGEST_LINE || !this.#add(trimmed, number, this.#hints)) this.rejected.push(number)
    }
    this.isEmpty = this.size === 0
  }

  get size(): number {
    return this.#blocks.size + this.#paths.size + this.#doubleHashes.size
  }

  /**
   * Returns the HTTP status for blocked content, or null. A rule for a path covers all names that Unicode calls equal.
   *
   * @param names text forms of the path below the CID; empty for the block itself
   */
  statusOf(cid: CID, names: readonly string[] = []): BlockedStatus | null {
    const key = keyOfCid(cid)
    const path = names.join('/')
    let last: Rule | undefined
    const consider = (rule: Rule | undefined): void => {
      if (rule !== undefined && (last === undefined || rule.line > last.line)) last = rule
    }
    if (path === '') consider(this.#blocks.get(key))
    const rules = this.#paths.get(key)
    if (rules === undefined && this.#doubleHashes.size === 0) return last?.status ?? null
    const forms = formsOf(path)
    for (const rule of rules ?? []) if (covers(rule, forms)) consider(rule)
    if (this.#doubleHashes.size > 0) {
      for (const form of new Set(forms)) {
        for (const text of hashedForms(cid, form)) consider(this.#doubleHashes.get(text))
      }
    }
    return last?.status ?? null
  }

  statusOfBlock(multihash: Uint8Array): BlockedStatus | null {
    return this.#blocks.get(keyOfMultihash(multihash))?.status ?? null
  }

  /** Returns whether rules with several codecs name the multihash. The last one decides, and hides the others. */
  isShared(cid: CID): boolean {
    return this.#shared.has(keyOfCid(cid))
  }

  /** Yields the blocked multihashes. Rules for paths and double hashes are not included. */
  *blocks(): Generator<{ multihash: Uint8Array; status: BlockedStatus }, void, undefined> {
    for (const [key, { status }] of this.#blocks) {
      if (status !== null) yield { multihash: Buffer.from(key, 'latin1'), status }
    }
  }

  #add(line: string, number: number, { status: standard }: Hints): boolean {
    const [item = '', ...hints] = line.split(/\s+/)
    const isException = item.startsWith('!')
    const status = isException ? null : (statusIn(hints) ?? standard)
    const rule: Rule = { line: number, status }
    const target = isException ? item.slice(1) : item
    if (target.startsWith('//')) return this.#addDoubleHash(target.slice(2), rule)
    if (target.startsWith('/ipns/')) return true
    const read = readTarget(target)
    if (read !== null) this.#addPath(read, rule)
    return read !== null
  }

  #addPath({ key, codec, path: target }: Target, rule: Rule): void {
    let path = target
    if (path === '') {
      const known = this.#blocks.get(key)
      if (known !== undefined && known.codec !== codec) this.#shared.add(key)
      this.#blocks.set(key, { ...rule, codec })
      return
    }
    const isPrefix = path.endsWith('*')
    path = isPrefix ? path.slice(0, -1) : path.replace(/\/$/, '')
    const rules = this.#paths.get(key) ?? []
    rules.push({ ...rule, codec, path, forms: formsOf(path), isPrefix })
    this.#paths.set(key, rules)
  }

  /** Removes the rule of a block, or both rules of a path. The multihash of the block must not be shared. */
  #lift(text: string): void {
    const target = readTarget(text)
    if (target === null) return
    const { key, codec, path } = target
    if (path === '') this.#blocks.delete(key)
    const isLifted = (rule: PathRule): boolean =>
      rule.codec === codec && rule.path === (rule.isPrefix ? `${path}/` : path)
    const left = (this.#paths.get(key) ?? []).filter(rule => !isLifted(rule))
    if (left.length > 0) this.#paths.set(key, left)
    else this.#paths.delete(key)
  }

  #addDoubleHash(text: string, rule: Rule): boolean {
    // 64 hexadecimal digits can be a SHA-256 or a base58 multihash, so the rule covers both.
    const isHex = /^[0-9a-f]{64}$/i.test(text)
    if (isHex) this.#doubleHashes.set(text.toLowerCase(), rule)
    try {
      const { code, digest } = multihashOfBase58(text)
      if (code !== HASH.sha2_256) return isHex
      this.#doubleHashes.set(Buffer.from(digest).toString('hex'), rule)
      return true
    } catch {
      return isHex
    }
  }
}

function formsOf(path: string): Forms {
  const [composed, decomposed] = [path.normalize('NFC'), path.normalize('NFD')]
  // Equal forms share their memory.
  return [path, composed === path ? path : composed, decomposed === path ? path : decomposed]
}

function covers({ forms, isPrefix }: PathRule, path: Forms): boolean {
  return forms.some((form, index) => (isPrefix ? path[index]?.startsWith(form) : path[index] === form))
}

/** Returns null if the text is not `/ipfs/` with a CID and percent-encoded names. */
function readTarget(text: string): Target | null {
  const [, root = '', rest = ''] = /^\/ipfs\/([^/]+)(?:\/(.*))?$/.exec(text) ?? []
  try {
    const cid = parseCid(root)
    return { key: keyOfCid(cid), codec: cid.code, path: textOfUri(rest) }
  } catch {
    return null
  }
}

/**
 * Returns the double hashes of a CID and path in the current and the legacy form. A multihash too long for base58 has
 * only the legacy form.
 */
function hashedForms(cid: CID, path: string): string[] {
  const multihash = base58OfMultihash(cid.multihash)
  const legacy = `${cidOf(identityOf(cid))}/${path}`
  const forms = multihash === null ? [legacy] : [path === '' ? multihash : `${multihash}/${path}`, legacy]
  return forms.map(text => createHash('sha256').update(bytesOfText(text)).digest('hex'))
}

/** Separates the YAML header from the rules. Ignores header fields other than the version and the hints. */
function splitHeader(text: string): { hints: Hints; body: string; firstLine: number } {
  const end = /^---[ \t]*\r?$/m.exec(text.slice(0, HEADER_BYTES))
  if (end === null) return { hints: { status: 410 }, body: text, firstLine: 1 }
  const header = text.slice(0, end.index)
  const version = /^version:\s*(\S+)/m.exec(header)?.[1] ?? '1'
  if (version !== '1') {
    throw new HoldfastError('CONFIG_INVALID', `denylist: version ${version} is not supported, only 1 is`)
  }
  const hints = /^hints:[^\n]*\n((?:[ \t]+[^\n]*(?:\n|$))*)/m.exec(header)?.[1] ?? ''
  const named = hints.split('\n').map(line => line.trim().replace(/:\s+/, ':'))
  const body = text.slice(end.index + end[0].length)
  return { hints: { status: statusIn(named) ?? 410 }, body, firstLine: header.split('\n').length }
}

function statusIn(hints: readonly string[]): BlockedStatus | null {
  const hint = hints.findLast(text => text.startsWith('gateway_status:'))
  if (hint === undefined) return null
  return hint.endsWith(':451') ? 451 : 410
}
