import type { ProviderSignIn } from '../access/sign-in/identity-provider.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Setup } from './setup.ts'

/** Returns null if the configuration names no provider. @throws HoldfastError `CONFIG_INVALID` */
export async function openSignIn({
  config: { oidc, publicUrl = '' },
  signIn,
  environment,
}: Pick<Setup, 'config' | 'signIn' | 'environment'>): Promise<ProviderSignIn | null> {
  if (oidc === undefined) return null
  if (typeof signIn !== 'function') {
    throw new HoldfastError(
      'CONFIG_INVALID',
      "oidc needs an adapter: import { oidc } from 'holdfast/oidc' and pass it as signIn",
    )
  }
  const { redirectUri = `${publicUrl}/console/`, label = new URL(oidc.issuer).host, groups = [], plan = 'free' } = oidc
  return { provider: await signIn(oidc, environment), redirectUri, label, groups, plan }
}
