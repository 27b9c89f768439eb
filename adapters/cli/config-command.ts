import { configJsonSchema } from '../../src/index.ts'
import type { GivenTo } from './all-commands.ts'
import { print } from './output.ts'
import { serverAdapters } from './server-adapters.ts'

/** Prints the JSON Schema of the configuration file. */
export async function printConfigSchema(_given: GivenTo<'config schema'>): Promise<void> {
  print(JSON.stringify(configJsonSchema(serverAdapters.adapters), null, 2))
}
