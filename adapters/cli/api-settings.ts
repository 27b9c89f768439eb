import { type Flags, usageError } from './arguments.ts'
import type { Environment } from './settings.ts'

export const API_FLAGS = ['api', 'key'] as const
export type ApiFlag = (typeof API_FLAGS)[number]

export interface ApiSettings {
  /** URL of the API, without a trailing slash. */
  base: string
  /** API key or session token. */
  key: string
}

const DEFAULT_API = 'http://127.0.0.1:4100/api/v3'
const BASE_PATH = '/api/v3'

/**
 * Reads the settings. Flags override environment variables.
 * @throws HoldfastError `VALIDATION` if the base is not a URL, or if there is no key
 */
export function readApiSettings(flags: Flags<ApiFlag>, env: Environment): ApiSettings {
  const source = flags.api === undefined ? 'HOLDFAST_API' : '--api'
  const base = parseBase(flags.api ?? (env.HOLDFAST_API || DEFAULT_API), source)
  const key = (flags.key ?? env.HOLDFAST_API_KEY ?? '').trim()
  if (key === '') throw usageError('an API key is needed: set HOLDFAST_API_KEY, or give --key')
  if (!/^[\x20-\x7e]+$/.test(key)) throw usageError('the API key may have printable ASCII characters only')
  return { base, key }
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
