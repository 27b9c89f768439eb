import type { BackendKind } from '../config/backend-kind.ts'
import { type ParsedConfig, parseConfig, withDefaults } from '../config/config.ts'
import { loaders } from './loaders.ts'

/**
 * Checks a configuration in the same way as `createEngine`, but opens nothing. Returns the configuration with defaults.
 * @param source text at the start of error messages, such as a file name
 * @param kinds kinds of systems that may keep clusters
 * @throws HoldfastError `CONFIG_INVALID`, which names the field
 * @example await checkConfig(JSON.parse(await readFile('holdfast.json', 'utf8')), 'holdfast.json')
 */
export async function checkConfig(
  value: unknown,
  source = 'config',
  kinds: readonly BackendKind[] = [],
): Promise<ParsedConfig> {
  const config = parseConfig(value, source, kinds)
  // This module imports the libp2p packages for multiaddrs.
  const { networkSettings } = await loaders.networkSettings()
  networkSettings(config.network ?? {})
  return withDefaults(config)
}
