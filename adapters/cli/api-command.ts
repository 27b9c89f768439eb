import { ApiClient, type JsonObject } from './api-client.ts'
import { API_FLAGS, type ApiFlag, readApiSettings } from './api-settings.ts'
import { type Arguments, type Grammar, readArguments } from './arguments.ts'
import { endWithReader } from './output.ts'
import type { Environment } from './settings.ts'

/** What a command that speaks to a server works with. */
export interface ApiWork<Name extends string, List extends string, Switch extends string>
  extends Arguments<Name | ApiFlag, List, Switch | 'json'> {
  client: ApiClient
  /** Whether results are wanted as JSON. */
  json: boolean
}

/** Reads the arguments of a command on a server, and does its work. False if help was wanted. */
export async function withApi<Name extends string, List extends string = never, Switch extends string = never>(
  args: readonly string[],
  env: Environment,
  grammar: Grammar<Name, List, Switch>,
  work: (work: ApiWork<Name, List, Switch>) => Promise<void>,
): Promise<boolean> {
  const given = readArguments(args, {
    ...grammar,
    values: [...grammar.values, ...API_FLAGS],
    switches: [...(grammar.switches ?? []), 'json'],
  })
  if (given === null) return false
  endWithReader()
  const client = new ApiClient(readApiSettings(given.flags, env), { note: text => console.error(`holdfast: ${text}`) })
  await work({ ...given, client, json: given.switches.has('json') })
  return true
}

/** A field of an answer as text; empty for what is not there. */
export function textOf(answer: JsonObject, name: string): string {
  const value = answer[name]
  return value === null || value === undefined || typeof value === 'object' ? '' : String(value)
}

/** A field of an answer as a number; null for what is none. */
export function numberOf(answer: JsonObject, name: string): number | null {
  const value = answer[name]
  return typeof value === 'number' ? value : null
}

/** A field of an answer as a list of objects; empty for what is none. */
export function listOf(answer: JsonObject, name: string): JsonObject[] {
  const value = answer[name]
  return Array.isArray(value) ? value.filter(item => typeof item === 'object' && item !== null) : []
}

/** Something in the path of a request. */
export function pathPart(text: string): string {
  return encodeURIComponent(text.trim())
}
