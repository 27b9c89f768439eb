import { configJsonSchema } from '../../src/index.ts'
import { readArguments } from './arguments.ts'
import { print } from './output.ts'
import { serverAdapters } from './server-adapters.ts'

/** Prints the JSON Schema of the configuration file. */
export async function printConfigSchema(args: readonly string[]): Promise<boolean> {
  if (readArguments(args, { values: [] }) === null) return false
  print(JSON.stringify(configJsonSchema(serverAdapters.adapters), null, 2))
  return true
}
