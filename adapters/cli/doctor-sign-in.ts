import { type CheckResult, fault, fine } from './check-result.ts'
import { serverAdapters } from './server-adapters.ts'
import type { Environment, ServerSettings } from './settings.ts'

const REMEDY = 'check oidc in the configuration and the provider; keys and passwords work meanwhile'

/** Checks that the sign-in provider answers as a sign-in needs it. Signs nobody in. */
export async function checkSignIn({ config: { oidc } }: ServerSettings, env: Environment): Promise<CheckResult[]> {
  if (oidc === undefined) return []
  try {
    const provider = await serverAdapters.signIn(oidc, env)
    await provider.start(oidc.redirectUri ?? '')
    return [fine('sign-in', `${oidc.issuer} answers`)]
  } catch (error) {
    const [whole = '', ...causes] = causesOf(error)
    return [fault('sign-in', causes.join(': ') || whole, REMEDY)]
  }
}

function causesOf(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...causesOf(error.cause)].filter(text => text !== '') : []
}
