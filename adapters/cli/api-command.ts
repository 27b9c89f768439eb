import { type ClientOptions, HoldfastClient, type JsonObject } from '../client/index.ts'
import { type ApiSettings, readApiSettings } from './api-settings.ts'
import type { API_FLAGS, Flags } from './command-spec.ts'
import type { Environment } from './settings.ts'

export interface ApiAccess {
  client: HoldfastClient
  settings: ApiSettings
  json: boolean
}

/** Returns a command that uses the API. */
export function apiCommand<G extends { flags: Flags<typeof API_FLAGS> }>(
  work: (work: G & ApiAccess, env: Environment) => Promise<void>,
): (given: G, env: Environment) => Promise<void> {
  return async (given, env) => {
    const settings = readApiSettings(given.flags, env)
    await work({ ...given, client: connect(settings), settings, json: given.flags.json }, env)
  }
}

export function connect(settings: ApiSettings, options: Pick<ClientOptions, 'fetch'> = {}): HoldfastClient {
  const note = (text: string): void => console.error(`holdfast: ${text}`)
  return new HoldfastClient({ ...settings, headers: { 'user-agent': 'holdfast' }, note, ...options })
}

/** Returns a field of a response as text; an empty text if the field is missing, null or an object. */
export function textOf(answer: object, name: string): string {
  const value: unknown = (answer as JsonObject)[name]
  return value === null || value === undefined || typeof value === 'object' ? '' : String(value)
}

export function numberOf(answer: object, name: string): number | null {
  const value: unknown = (answer as JsonObject)[name]
  return typeof value === 'number' ? value : null
}

/** Returns the fields of each row as text. */
export function cellsOf(rows: readonly object[], names: readonly string[]): string[][] {
  return rows.map(row => names.map(name => textOf(row, name)))
}

/** Returns a field of a response; an empty list if the field is not a list. */
export function listOf(answer: object, name: string): JsonObject[] {
  const value: unknown = (answer as JsonObject)[name]
  return Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []
}

/** Returns a field of a response; an empty object if the field is not an object. */
export function objectIn(answer: object, name: string): JsonObject {
  const value: unknown = (answer as JsonObject)[name]
  return typeof value === 'object' && value !== null ? (value as JsonObject) : {}
}
