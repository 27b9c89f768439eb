import { instantOf } from '../../domain/date-time.ts'
import { HoldfastError, invalid } from '../../domain/errors.ts'
import { AddressList } from '../limits/network-address.ts'
import { CONTRACT_SCOPES, isScope, SCOPES, type Scope, type UploadGrant } from '../principal.ts'
import { randomId } from './api-key-secret.ts'

/** Fields of a new API key, as a client sends them. An absent or null field gets its default. */
export interface KeyInput {
  /**
   * 1 to 64 printable characters without `/ \ ? # %`, because the name is a segment of URLs. Default: random for an
   * upload token. Other keys must have a name.
   */
  name?: string | undefined
  /** Default: `files:read`, `files:write` and `cluster:read`. */
  scopes?: readonly string[] | null | undefined
  /** Older alternative to `scopes`, with the values `read`, `write` and `admin`. Ignored if `scopes` is given. */
  permissions?: readonly string[] | null | undefined
  /** Lifetime in whole days. 0 means that the key never expires. Default 0. */
  expiresInDays?: number | null | undefined
  /** IP addresses and networks in CIDR notation that may use the key. Default: empty, for all addresses. */
  ipAllowlist?: readonly string[] | null | undefined
  /** Free text of at most 255 characters. */
  label?: string | null | undefined
  /**
   * Maximum number of uploads, 1 to 10,000. If given, the key is an upload token, whose only scope is `files:write`.
   */
  maxUses?: number | null | undefined
  /** For upload tokens: maximum number of content bytes in one upload. Default: the limit of the plan. */
  maxBytes?: number | null | undefined
  /** For upload tokens: cluster of the uploads. Default: the default cluster of the account. */
  cluster?: string | null | undefined
  /** For upload tokens: expiry of the uploads as an RFC 3339 date-time. Default: never. */
  timelock?: string | null | undefined
  /** For upload tokens: lifetime in seconds, 1 to 604,800 (seven days). Replaces `expiresInDays`. Default 3,600. */
  expiresInSeconds?: number | null | undefined
}

export interface ParsedKey {
  name: string
  scopes: Scope[]
  expiresAt: number | null
  ipAllowlist: string[]
  label: string | null
  upload: UploadGrant | null
}

const MAX_NAME = 64
const MAX_LABEL = 255
const MAX_DAYS = 36_500
export const MAX_ALLOWLIST = 100
/** Maximum number of scopes in a request, including duplicates. */
const MAX_WORDS = 32
const MAX_USES = 10_000
const TOKEN_SECONDS = 3_600
/** Seven days. The lifetime is short because strangers hold upload tokens. */
const MAX_TOKEN_SECONDS = 604_800
const UPLOAD_SCOPES: readonly Scope[] = ['files:write']
const DAY_MS = 24 * 60 * 60 * 1_000

const DEFAULT_SCOPES: readonly Scope[] = ['files:read', 'files:write', 'cluster:read']
const PERMISSIONS = new Map<string, readonly Scope[]>([
  ['read', ['files:read', 'cluster:read']],
  ['write', ['files:write']],
  ['admin', CONTRACT_SCOPES],
])

/**
 * Validates a new key, including the types, because the fields come from parsed JSON.
 * @throws HoldfastError `VALIDATION`, which names the field
 */
export function parseKeyInput(input: KeyInput, now: number): ParsedKey {
  if (isGiven(input.maxUses)) return parseTokenInput(input, now)
  const stray = TOKEN_FIELDS.find(field => isGiven(input[field]))
  if (stray !== undefined) throw invalid(`${stray} needs maxUses: only upload tokens have it`)
  return {
    name: parseName(input.name),
    scopes: parseScopes(input),
    expiresAt: parseExpiry(input.expiresInDays, now),
    ipAllowlist: parseAllowlist(input.ipAllowlist),
    label: parseLabel(input.label),
    upload: null,
  }
}

const TOKEN_FIELDS = ['maxBytes', 'cluster', 'timelock', 'expiresInSeconds'] as const

/** Validates an upload token. Its caller and each upload check whether the plan allows the cluster and the timelock. */
function parseTokenInput(input: KeyInput, now: number): ParsedKey {
  const { name, scopes, permissions } = input
  const wanted = isGiven(scopes) || isGiven(permissions) ? parseScopes(input) : UPLOAD_SCOPES
  if (wanted.some(scope => !UPLOAD_SCOPES.includes(scope))) {
    throw invalid('scopes of an upload token can only be files:write')
  }
  if (isGiven(input.expiresInDays))
    throw invalid('expiresInDays does not apply to upload tokens: send expiresInSeconds')
  const expiresAt =
    now + (whole('expiresInSeconds', input.expiresInSeconds, MAX_TOKEN_SECONDS) ?? TOKEN_SECONDS) * 1_000
  return {
    name: isGiven(name) ? parseName(name) : `upload-${randomId()}`,
    scopes: [...UPLOAD_SCOPES],
    expiresAt,
    ipAllowlist: parseAllowlist(input.ipAllowlist),
    label: parseLabel(input.label),
    upload: {
      maxUses: whole('maxUses', input.maxUses, MAX_USES) ?? 1,
      maxBytes: whole('maxBytes', input.maxBytes, Number.MAX_SAFE_INTEGER),
      cluster: parseCluster(input.cluster),
      timelock: parseTimelock(input.timelock, expiresAt),
    },
  }
}

/** Returns null if the field is absent. */
function whole(field: string, value: unknown, most: number): number | null {
  if (!isGiven(value)) return null
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw invalid(`${field} must be a whole number from 1 to ${most}`)
}

function parseCluster(value: unknown): string | null {
  if (!isGiven(value)) return null
  if (typeof value !== 'string') throw invalid('cluster must be a string')
  return value.trim() === '' ? null : value.trim()
}

function parseTimelock(value: unknown, expiresAt: number): number | null {
  if (!isGiven(value) || value === '') return null
  const instant = instantOf(typeof value === 'string' ? value.trim() : value)
  if (instant !== null && instant > expiresAt) return instant
  const problem =
    instant === null ? 'must be an RFC 3339 date-time' : 'must be later than the expiry of the upload token'
  throw new HoldfastError('INVALID_TIMELOCK', `timelock ${problem}`)
}

function parseName(value: unknown): string {
  if (!isGiven(value)) throw invalid('name must be given')
  if (typeof value !== 'string') throw invalid('name must be a string')
  const name = value.trim()
  const length = [...name].length
  if (length < 1 || length > MAX_NAME) throw invalid(`name must have 1 to ${MAX_NAME} characters`)
  if (!isPrintable(name)) throw invalid('name must have printable characters only')
  if (/[/\\?#%]/.test(name)) throw invalid('name must not contain any of / \\ ? # %')
  if (name.startsWith('console-')) throw invalid('name must not begin with console-, as sign-ins at the console do')
  // URLs drop the segments `.` and `..`. A key with such a name could not be revoked by URL.
  if (name === '.' || name === '..') throw invalid(`name must not be ${name}`)
  return name
}

function parseScopes(input: KeyInput): Scope[] {
  const wanted = new Set<Scope>()
  if (isGiven(input.scopes)) {
    for (const scope of parseStrings('scopes', input.scopes, MAX_WORDS)) {
      if (!isScope(scope)) throw invalid(`scopes must be among ${SCOPES.join(', ')}`)
      wanted.add(scope)
    }
    if (wanted.size === 0) throw invalid('scopes must name at least one scope')
  } else if (isGiven(input.permissions)) {
    for (const permission of parseStrings('permissions', input.permissions, MAX_WORDS)) {
      const scopes = PERMISSIONS.get(permission)
      if (scopes === undefined) throw invalid(`permissions must be among ${[...PERMISSIONS.keys()].join(', ')}`)
      for (const scope of scopes) wanted.add(scope)
    }
    if (wanted.size === 0) throw invalid('permissions must name at least one permission')
  } else {
    return [...DEFAULT_SCOPES]
  }
  return SCOPES.filter(scope => wanted.has(scope))
}

function parseExpiry(value: unknown, now: number): number | null {
  if (!isGiven(value) || value === 0) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_DAYS) {
    throw invalid(`expiresInDays must be a whole number from 0 (never) to ${MAX_DAYS}`)
  }
  return now + value * DAY_MS
}

function parseAllowlist(value: unknown): string[] {
  if (!isGiven(value)) return []
  const entries = parseStrings('ipAllowlist', value, MAX_ALLOWLIST).map(entry => entry.trim())
  try {
    new AddressList(entries)
  } catch (cause) {
    throw invalid(`ipAllowlist: ${cause instanceof RangeError ? cause.message : 'invalid entry'}`)
  }
  return [...new Set(entries)]
}

function parseLabel(value: unknown): string | null {
  if (!isGiven(value)) return null
  if (typeof value !== 'string') throw invalid('label must be a string')
  const label = value.trim()
  if ([...label].length > MAX_LABEL) throw invalid(`label must have at most ${MAX_LABEL} characters`)
  if (label !== '' && !isPrintable(label)) throw invalid('label must have printable characters only')
  return label === '' ? null : label
}

function parseStrings(field: string, value: unknown, most: number): string[] {
  if (Array.isArray(value) && value.length > most) throw invalid(`${field} must have at most ${most} entries`)
  if (!Array.isArray(value) || !value.every(item => typeof item === 'string')) {
    throw invalid(`${field} must be an array of strings`)
  }
  return value
}

function isGiven<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null
}

function isPrintable(text: string): boolean {
  return /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text)
}
