import { type Audit, assertError } from './world.ts'

const JSON_BODY = { 'content-type': 'application/json' }
const ROUTES = [
  ['GET', '/nodes'],
  ['POST', '/nodes/cl0/retire', { to: 'cl1' }],
  ['POST', '/nodes/cl0/forget'],
  ['POST', '/nodes/a/forget', { isReplaced: true }],
  ['POST', '/nodes/away', { nodes: ['cl0'] }],
  ['GET', '/lost'],
] as const

/** Nodes of a fleet, which only the owner may see, retire and forget. */
export const nodeAudits: readonly Audit[] = [
  {
    id: 'nodes.owner-only',
    name: 'MUST refuse the routes of nodes to strangers and users',
    async run({ actor, client }) {
      const account = await actor('unlimited')
      for (const [method, path, body] of ROUTES) {
        const asked = body === undefined ? {} : { body: JSON.stringify(body) }
        const ask = (headers: Record<string, string>) =>
          client.request(method, `/admin/v1${path}`, { headers: { ...headers, ...JSON_BODY }, ...asked })
        assertError(await ask({}), 401, 'INVALID_API_KEY')
        assertError(await ask(account.auth), 403, 'OWNER_REQUIRED')
      }
    },
  },
]
