import Type from 'typebox'
import type { BackendProblems } from '../../src/config/backend-kind.ts'
import { configText, optionalText } from '../../src/config/schema-parts.ts'

/** Returns the fields that name the file or the variable with the credentials of an API. */
export function authFields(wanted: string) {
  return {
    authFile: optionalText(wanted),
    authEnv: optionalText('Environment variable with it, instead of `authFile`.'),
  }
}

/** Returns the field for the gateways that content is read from. */
export function gatewaysField(description: string, defaultText: string) {
  return { gateways: Type.Optional(Type.Array(configText(), { maxItems: 16, description, defaultText })) }
}

/** An API with credentials, and gateways. */
interface ApiDefinition {
  api: string
  authFile?: string
  authEnv?: string
  gateways?: readonly string[]
}

/** Checks the URLs of an API and its gateways, and that its credentials have one source only. */
export function checkApi({ api, authFile, authEnv, gateways = [] }: ApiDefinition, problems: BackendProblems): void {
  problems.url('api', api)
  for (const [i, gateway] of gateways.entries()) problems.url(`gateways.${i}`, gateway)
  if (authFile !== undefined && authEnv !== undefined) problems.fail('', 'has both authFile and authEnv')
}
