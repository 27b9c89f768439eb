import type { BackendKind } from '../config/backend-kind.ts'
import { parseConfig, withDefaults } from '../config/config.ts'
import type { EngineConfig } from '../config/engine-options.ts'

/**
 * Checks a configuration as a start would, without one: nothing is opened, made or connected to. Returns it with its
 * defaults.
 *
 * @param source what the value is, to begin messages with: a file name, say
 * @param kinds the systems that may keep clusters; default: none
 * @throws HoldfastError `CONFIG_INVALID` naming the field
 */
export async function checkConfig(
  value: unknown,
  source = 'config',
  kinds: readonly BackendKind[] = [],
): Promise<EngineConfig> {
  const config = parseConfig(value, source, kinds)
  // The packages that know addresses of peers are loaded for this alone.
  const { networkSettings } = await import('../network/network-settings.ts')
  networkSettings(config.network ?? {})
  return withDefaults(config)
}
