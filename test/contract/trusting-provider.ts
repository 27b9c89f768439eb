import { randomBytes } from 'node:crypto'
import { HoldfastError, type Identity, type IdentityProvider } from '../../src/index.ts'

/** A sign-in provider that believes the answer, which is the identity as JSON. */
const trustingProvider: IdentityProvider = {
  start: async (redirectUri, { isProof = false } = {}) => ({
    url: `https://provider.example/?to=${redirectUri}${isProof ? '&again' : ''}`,
    secret: randomBytes(9).toString('hex'),
  }),
  finish: async ({ answer }) => told(answer),
  refresh: async ({ refreshToken }) => told(refreshToken),
}

function told(text: string): Identity {
  if (!text.startsWith('{')) throw new HoldfastError('INVALID_API_KEY', 'the sign-in was refused: start it again')
  const nothing = { email: null, name: null, groups: [], refreshToken: null }
  return { issuer: 'https://provider.example', ...nothing, ...JSON.parse(text) }
}

export const auditSignIn = {
  oidc: {
    issuer: 'https://provider.example',
    clientId: 'holdfast',
    redirectUri: 'https://pins.example.org/console/',
    groups: [
      { group: 'admins', plan: 'unlimited' },
      { group: 'staff', plan: 'premium' },
    ],
  },
  signIn: async () => trustingProvider,
}
