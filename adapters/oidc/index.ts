import { HoldfastError } from '../../src/domain/errors.ts'
import type { SignInAdapter } from '../../src/index.ts'
import { secretOf } from '../remote/secrets.ts'

export type { Identity, IdentityProvider, OidcConfig, SignInAdapter, StartedSignIn } from '../../src/index.ts'

/**
 * Signs users in with a provider of OpenID Connect: `createEngine({ oidc: { … }, signIn: oidc })`. Needs the package
 * `openid-client`.
 */
export const oidc: SignInAdapter = async (config, environment) => {
  const { clientSecretFile: file, clientSecretEnv: env } = config
  const isPublic = file === undefined && env === undefined
  const clientSecret = isPublic ? null : await secretOf('oidc', { name: 'clientSecret', file, env }, environment)
  const { OidcProvider } = await import('./oidc-provider.ts').catch((cause: unknown) => {
    throw new HoldfastError('CONFIG_INVALID', 'oidc needs the package openid-client; run npm install openid-client', {
      cause,
    })
  })
  return new OidcProvider({ ...config, clientSecret })
}
