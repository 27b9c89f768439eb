import type { OidcConfig } from '../../config/engine-options.ts'

/** A user as a sign-in provider vouches for them. Only `issuer` and `subject` together identify the user. */
export interface Identity {
  issuer: string
  subject: string
  /** Null unless the provider has verified it. It never finds an account. */
  email: string | null
  name: string | null
  groups: readonly string[]
  /** Secret with which `refresh` asks the provider again, without the user. Null if the provider gave none. */
  refreshToken: string | null
}

/** A sign-in that has begun. */
export interface StartedSignIn {
  /** Page of the provider that the browser opens. */
  url: string
  /** Secret that only the tab keeps. `finish` derives the expected `state` and `nonce` from it, so no node stores them. */
  secret: string
}

/** A sign-in provider, such as one that speaks OpenID Connect. */
export interface IdentityProvider {
  /**
   * @param options.isProof true if the provider should ask the user again, even during a session of its own
   * @throws HoldfastError `UNAVAILABLE` if the provider does not answer as it should
   */
  start(redirectUri: string, options?: { isProof?: boolean }): Promise<StartedSignIn>
  /**
   * Checks the answer of the provider.
   * @param input.answer the query with which the provider sent the browser back
   * @param input.isProof true to refuse a user whom the provider has not asked in the last 15 minutes
   * @throws HoldfastError `INVALID_API_KEY` if the answer is refused, `UNAVAILABLE` if the provider does not answer
   */
  finish(input: { redirectUri: string; secret: string; answer: string; isProof?: boolean }): Promise<Identity>
  /**
   * Asks the provider whether it still vouches for the user of a refresh token, which may be good for one use.
   * @throws HoldfastError `INVALID_API_KEY` if the provider no longer vouches for the user; `UNAVAILABLE` for any other
   * failure, such as a wrong secret of the client
   */
  refresh(known: { issuer: string; subject: string; refreshToken: string }): Promise<Identity>
}

/**
 * Opens the provider of a configuration, for the engine option `signIn`: `oidc` of `holdfast/oidc`. It asks the provider
 * nothing yet.
 * @throws HoldfastError `CONFIG_INVALID` for a secret that cannot be read, or a package that is missing
 */
export type SignInAdapter = (
  config: OidcConfig,
  environment: Readonly<Record<string, string | undefined>>,
) => Promise<IdentityProvider>

/** An opened provider, and what its users get. */
export interface ProviderSignIn {
  provider: IdentityProvider
  redirectUri: string
  /** Name of the provider on the button. */
  label: string
  /** Plans by group. The first entry whose group the user has decides. */
  groups: ReadonlyArray<{ group: string; plan: string }>
  /** Plan of users without such a group, and without a confirmation by the provider for an hour. */
  plan: string
}
