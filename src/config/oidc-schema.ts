import Type from 'typebox'
import type { OidcConfig } from './engine-options.ts'
import { closed, configText, optionalText } from './schema-parts.ts'
import { checkUrl, type Fail } from './schema-problem.ts'

const group = Type.Object({ group: configText(), plan: configText() }, closed)

export const oidcSchema = Type.Optional(
  Type.Object(
    {
      issuer: configText('URL of the provider, exactly as in its tokens: `https`, or `http` on a loopback address.'),
      clientId: configText('Id of the client that you registered at the provider.'),
      clientSecretFile: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'File with the secret of the client.',
          defaultText: 'none, as for a public client',
        }),
      ),
      clientSecretEnv: optionalText(
        'The environment variable with the secret. Set at most one of `clientSecretFile` and `clientSecretEnv`.',
      ),
      redirectUri: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'URL of the console, exactly as registered at the provider.',
          defaultText: '`publicUrl` with `/console/`',
        }),
      ),
      label: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 64,
          description: 'Name of the provider on the button.',
          defaultText: 'the host of the issuer',
        }),
      ),
      scope: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'Scopes that the sign-in asks for. With `offline_access`, plans by groups outlast the sign-in.',
          defaultText: '`openid profile email`',
        }),
      ),
      groupsClaim: Type.Optional(
        Type.String({
          minLength: 1,
          description: 'Claim of the ID token that lists the groups of the user.',
          defaultText: '`groups`',
        }),
      ),
      groups: Type.Optional(
        Type.Array(group, {
          typeText: 'ReadonlyArray<{ group: string; plan: string }>',
          description: 'Plans by group, `{"group", "plan"}` each. The first entry whose group the user has decides.',
          defaultText: 'none',
        }),
      ),
      plan: Type.Optional(
        Type.String({ minLength: 1, description: 'Plan of users without such a group.', defaultText: '`free`' }),
      ),
    },
    {
      ...closed,
      title: 'OidcConfig',
      description:
        'Provider of OpenID Connect with which users sign in to the console; see [the guide](../guides/sign-in-with-openid-connect.md). Needs the package `openid-client`, and in an embedded engine the adapter of `holdfast/oidc`.',
      defaultText: 'none',
    },
  ),
)

/** Checks what the schema cannot express. */
export function checkOidc(
  oidc: OidcConfig | undefined,
  { publicUrl, plans }: { publicUrl: string | undefined; plans: readonly string[] },
  fail: Fail,
): void {
  if (oidc === undefined) return
  const { issuer, clientSecretFile, clientSecretEnv, redirectUri, scope, groups = [], plan = 'free' } = oidc
  checkSafeUrl('oidc.issuer', issuer, fail)
  if (clientSecretFile !== undefined && clientSecretEnv !== undefined) {
    fail('oidc.clientSecretEnv', 'must not be set beside clientSecretFile')
  }
  if (redirectUri !== undefined) checkSafeUrl('oidc.redirectUri', redirectUri, fail)
  else if (publicUrl === undefined) fail('oidc.redirectUri', 'is required, because publicUrl is not set')
  else checkSafeUrl('publicUrl', publicUrl, (path, problem) => fail(path, `${problem}, because oidc redirects to it`))
  if (scope !== undefined && !scope.split(' ').includes('openid')) fail('oidc.scope', 'must contain openid')
  const known = `must be one of ${plans.join(', ')}`
  if (!plans.includes(plan)) fail('oidc.plan', known)
  groups.forEach(({ group, plan }, i) => {
    if (!plans.includes(plan)) fail(`oidc.groups.${i}.plan`, known)
    if (groups.findIndex(each => each.group === group) < i) fail(`oidc.groups.${i}.group`, `${group} occurs twice`)
  })
}

/** Fails for plain HTTP beyond this machine, because others could read or change what it carries. */
function checkSafeUrl(path: string, text: string, fail: Fail): void {
  checkUrl(path, text, fail)
  const { protocol, hostname } = new URL(text)
  if (protocol !== 'https:' && !isLoopback(hostname)) fail(path, 'must be an https URL, or http on a loopback address')
}

function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', '[::1]', 'localhost'].includes(hostname)
}
