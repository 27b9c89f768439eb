import { usageError } from './arguments.ts'
import type { API_FLAGS, Flags } from './command-spec.ts'
import { readLogin } from './saved-login.ts'
import type { Environment } from './settings.ts'

type ApiFlags = Pick<Flags<typeof API_FLAGS>, 'api' | 'key'>

export interface ApiSettings {
  /** URL of the API, without a trailing slash. */
  base: string
  /** API key or session token. */
  key: string
}

const DEFAULT_API = 'http://127.0.0.1:4100/api/v3'
const BASE_PATH = '/api/v3'

/**
 * Reads the settings. Flags override environment variables. Without a key in either, the saved login applies. Its key
 * never goes to another server.
 * @throws HoldfastError `VALIDATION` if the base is not a URL, or if there is no key
 */
export function readApiSettings(flags: ApiFlags, env: Environment): ApiSettings {
  const given = (flags.key ?? env.HOLDFAST_API_KEY ?? '').trim()
  const saved = given === '' ? readLogin(env) : null
  const base = apiBase(flags, env, saved?.api)
  if (saved === null) return { base, key: checkedKey(given) }
  if (base === saved.api) return { base, key: checkedKey(saved.key) }
  throw usageError(`the saved login is for ${saved.api}: for ${base} set HOLDFAST_API_KEY, give --key or log in again`)
}

/** Returns the flag or variable that has the key, or null if only a saved login can have it. */
export function keySource(flags: ApiFlags, env: Environment): string | null {
  if (flags.key !== undefined) return '--key'
  return (env.HOLDFAST_API_KEY ?? '').trim() === '' ? null : 'HOLDFAST_API_KEY'
}

/** Returns the base of the API. @throws HoldfastError `VALIDATION` if it is not a URL */
export function apiBase(flags: Pick<ApiFlags, 'api'>, env: Environment, fallback = DEFAULT_API): string {
  const source = flags.api === undefined ? 'HOLDFAST_API' : '--api'
  return parseBase(flags.api ?? (env.HOLDFAST_API || fallback), source)
}

/** Returns the key without surrounding spaces. @throws HoldfastError `VALIDATION` if it cannot be a key */
export function checkedKey(text: string): string {
  const key = text.trim()
  if (key === '') throw usageError('an API key is needed: log in, set HOLDFAST_API_KEY, or give --key')
  if (!/^[\x20-\x7e]+$/.test(key)) throw usageError('the API key may have printable ASCII characters only')
  return key
}

/**
 * Returns the settings for the owner's API at `/admin/v1`.
 * @throws HoldfastError `VALIDATION` if the base does not end in `/api/v3`
 */
export function ownerBase({ base, key }: ApiSettings): ApiSettings {
  if (!base.endsWith(BASE_PATH)) throw usageError(`--api must end in ${BASE_PATH} for this, ${base} does not`)
  return { base: `${base.slice(0, -BASE_PATH.length)}/admin/v1`, key }
}

/** Validates the URL. If the URL has no path, adds `/api/v3`. */
function parseBase(text: string, source: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const isBase = url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === ''
  if (!isBase || url.username !== '') {
    throw usageError(`${source} must be the URL of an API base such as ${DEFAULT_API}`)
  }
  return url.origin + (url.pathname === '/' ? BASE_PATH : url.pathname.replace(/\/+$/, ''))
}
