import type { BackendKind } from '../config/backend-kind.ts'
import { parseConfig, withDefaults } from '../config/config.ts'
import type { EngineConfig } from '../config/engine-options.ts'

/**
 * Checks a configuration as `createEngine` would, without opening, creating or connecting anything. Returns it with
 * defaults.
 *
 * @param source start of error messages, such as a file name
 * @param kinds systems that may keep clusters; default: none
 * @throws HoldfastError `CONFIG_INVALID` naming the field
 */
export async function checkConfig(
  value: unknown,
  source = 'config',
  kinds: readonly BackendKind[] = [],
): Promise<EngineConfig> {
  const config = parseConfig(value, source, kinds)
  // Loaded only on use, because this imports the libp2p packages for multiaddrs.
  const { networkSettings } = await import('../network/network-settings.ts')
  networkSettings(config.network ?? {})
  return withDefaults(config)
}
