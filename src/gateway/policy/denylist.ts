import { createHash } from 'node:crypto'
import type { CID } from 'multiformats/cid'
import { HoldfastError } from '../../domain/errors.ts'
import { base58OfMultihash, cidOf, HASH, identityOf, multihashOfBase58, parseCid } from '../../ipld/cid.ts'

/** HTTP status for blocked content. */
export type BlockedStatus = 410 | 451

interface Rule {
  /** Line number of the rule. If several rules match, the highest line number wins. */
  line: number
  /** HTTP status for blocked content. Null if the rule is an exception, which allows the content. */
  status: BlockedStatus | null
}

interface PathRule extends Rule {
  path: string
  isPrefix: boolean
}

interface Hints {
  status: BlockedStatus
}

const HEADER_BYTES = 1024 ** 2
const LONGEST_LINE = 2 * 1024 ** 2

/** A list in the compact denylist format. IPNS names are ignored, because the gateway does not serve IPNS. */
export class Denylist {
  readonly #blocks = new Map<string, Rule>()
  readonly #paths = new Map<string, PathRule[]>()
  readonly #doubleHashes = new Map<string, Rule>()
  /** Numbers of the lines that cannot be parsed, counted from 1. */
  readonly rejected: number[] = []
  /** Token that each change of the list replaces with another object. */
  revision: object = {}
  isEmpty = true
  readonly #hints: Hints
  #nextLine: number

  /** @throws HoldfastError `CONFIG_INVALID` if the header names a version other than 1 */
  constructor(text: string) {
    const { hints, body, firstLine } = splitHeader(text)
    this.#hints = hints
    this.#nextLine = firstLine
    this.append(body)
  }

  /** Adds rules, which take precedence over older rules. */
  append(body: string): void {
    for (const line of body.split('\n')) {
      const number = this.#nextLine++
      const trimmed = line.trim()
      if (trimmed === '' || trimmed.startsWith('#')) continue
      if (line.length > LONGEST_LINE || !this.#add(trimmed, number, this.#hints)) this.rejected.push(number)
    }
    this.revision = {}
    this.isEmpty = this.size === 0
  }

  get size(): number {
    return this.#blocks.size + this.#paths.size + this.#doubleHashes.size
  }

  /**
   * Returns the HTTP status for blocked content, or null.
   *
   * @param names percent-decoded path below the CID; empty for the block itself
   */
  statusOf(cid: CID, names: readonly string[] = []): BlockedStatus | null {
    const key = keyOf(cid)
    const path = names.join('/')
    let last: Rule | undefined
    const consider = (rule: Rule | undefined): void => {
      if (rule !== undefined && (last === undefined || rule.line > last.line)) last = rule
    }
    if (path === '') consider(this.#blocks.get(key))
    for (const rule of this.#paths.get(key) ?? []) {
      if (rule.isPrefix ? path.startsWith(rule.path) : path === rule.path) consider(rule)
    }
    if (this.#doubleHashes.size > 0) for (const text of hashedForms(cid, path)) consider(this.#doubleHashes.get(text))
    return last?.status ?? null
  }

  statusOfBlock(multihash: Uint8Array): BlockedStatus | null {
    return this.#blocks.get(keyOfBytes(multihash))?.status ?? null
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
    const match = /^\/ipfs\/([^/]+)(?:\/(.*))?$/.exec(target)
    return match !== null && this.#addPath(match[1] ?? '', match[2], rule)
  }

  #addPath(root: string, rest: string | undefined, rule: Rule): boolean {
    let key: string
    let path: string
    try {
      key = keyOf(parseCid(root))
      path = decodeURIComponent(rest ?? '')
    } catch {
      return false
    }
    if (rest === undefined || rest === '') {
      this.#blocks.set(key, rule)
      return true
    }
    const isPrefix = path.endsWith('*')
    path = isPrefix ? path.slice(0, -1) : path.replace(/\/$/, '')
    const rules = this.#paths.get(key) ?? []
    rules.push({ ...rule, path, isPrefix })
    this.#paths.set(key, rules)
    return true
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

/**
 * Returns the double hashes of a CID and path in the current and the legacy form. A multihash too long for base58 has
 * only the legacy form.
 */
function hashedForms(cid: CID, path: string): string[] {
  const multihash = base58OfMultihash(cid.multihash)
  const legacy = `${cidOf(identityOf(cid))}/${path}`
  const forms = multihash === null ? [legacy] : [path === '' ? multihash : `${multihash}/${path}`, legacy]
  return forms.map(text => createHash('sha256').update(text).digest('hex'))
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

function keyOf(cid: CID): string {
  return keyOfBytes(cid.multihash.bytes)
}

function keyOfBytes(multihash: Uint8Array): string {
  return Buffer.from(multihash.buffer, multihash.byteOffset, multihash.byteLength).toString('latin1')
}
