import { readFileSync, statSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { Readable } from 'node:stream'
import { HoldfastError } from '../../src/domain/errors.ts'
import { unwritable } from './local-files.ts'
import type { Environment } from './settings.ts'
import { writeWhole } from './whole-file.ts'

/** Server and key that `holdfast login` saved. */
export interface SavedLogin {
  /** Base of the API. */
  api: string
  key: string
}

const OTHERS = 0o077

/** Returns the path of the file, in the user's configuration directory. */
export function loginFile({ XDG_CONFIG_HOME = '' }: Environment): string {
  const configuration = isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(homedir(), '.config')
  return join(configuration, 'holdfast', 'login.json')
}

/**
 * Returns null if no login is saved.
 * @throws HoldfastError `CONFIG_INVALID` if the file cannot be read, or if other users can read it
 */
export function readLogin(env: Environment): SavedLogin | null {
  const file = loginFile(env)
  try {
    // Windows has no user ids and no such file modes.
    if (process.getuid !== undefined && (statSync(file).mode & OTHERS) !== 0) {
      throw new HoldfastError('CONFIG_INVALID', `other users may read ${file}: chmod 600 it, and revoke its key`)
    }
    const { api, key } = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof api === 'string' && typeof key === 'string') return { api, key }
    throw new TypeError('it has no api and key')
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null
    const { message } = cause as Error
    throw new HoldfastError('CONFIG_INVALID', `cannot read ${file}: ${message}. Log in again`, { cause })
  }
}

/** Replaces the file atomically. Only the user can read it. */
export async function saveLogin(env: Environment, { api, key }: SavedLogin): Promise<void> {
  const file = loginFile(env)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 }).catch(cause => {
    throw unwritable(file, cause)
  })
  await writeWhole(file, Readable.from([Buffer.from(`${JSON.stringify({ api, key })}\n`)]), { mode: 0o600 })
}

export async function forgetLogin(env: Environment): Promise<void> {
  const file = loginFile(env)
  await rm(file, { force: true }).catch(cause => {
    throw unwritable(file, cause)
  })
}
