import Type from 'typebox'
import type { BackendProblems } from '../../src/config/backend-kind.ts'
import { configText, optionalText } from '../../src/config/schema-parts.ts'

/** Returns the configuration fields that name the file or the environment variable with the credentials of an API. */
export function authFields(wanted: string) {
  return {
    authFile: optionalText(wanted),
    authEnv: optionalText('Environment variable with it, instead of `authFile`.'),
  }
}

/** Returns the configuration field with the gateways from which content is read. */
export function gatewaysField(description: string, defaultText: string) {
  return { gateways: Type.Optional(Type.Array(configText(), { maxItems: 16, description, defaultText })) }
}

/** The configuration of an API, its credentials and its gateways. */
interface ApiDefinition {
  api: string
  authFile?: string
  authEnv?: string
  gateways?: readonly string[]
}

/**
 * Checks the URLs of an API and of its gateways. Also checks that the credentials are in a file or a variable, not in
 * both.
 */
export function checkApi({ api, authFile, authEnv, gateways = [] }: ApiDefinition, problems: BackendProblems): void {
  problems.url('api', api)
  for (const [i, gateway] of gateways.entries()) problems.url(`gateways.${i}`, gateway)
  if (authFile !== undefined && authEnv !== undefined) problems.fail('', 'has both authFile and authEnv')
}
