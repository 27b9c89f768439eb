import Type from 'typebox'
import type { BackendProblems } from '../../src/config/backend-kind.ts'
import { configText, optionalText } from '../../src/config/schema-parts.ts'

export function authFields(wanted: string) {
  return {
    authFile: optionalText(wanted),
    authEnv: optionalText('Environment variable with the credentials, instead of `authFile`.'),
  }
}

export function gatewaysField(description: string, defaultText: string) {
  return { gateways: Type.Optional(Type.Array(configText(), { maxItems: 16, description, defaultText })) }
}

interface ApiDefinition {
  api: string
  authFile?: string
  authEnv?: string
  gateways?: readonly string[]
}

/** Checks the URLs, and that at most one of file and variable supplies the credentials. */
export function checkApi({ api, authFile, authEnv, gateways = [] }: ApiDefinition, problems: BackendProblems): void {
  problems.url('api', api)
  for (const [i, gateway] of gateways.entries()) problems.url(`gateways.${i}`, gateway)
  if (authFile !== undefined && authEnv !== undefined) problems.fail('', 'has both authFile and authEnv')
}
