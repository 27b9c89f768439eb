import type { AbusedServer } from '../abused-server.ts'
import type { AbuseRow } from '../row.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'
const KEYS = Array.from({ length: 100_000 }, (_, i) => `"${i.toString(36)}":""`).join()

/** JSON bodies with as many keys and values as fit. */
const BODIES = [
  `{"cid":"${CID}","meta":{${KEYS}}}`,
  `{"cid":"${CID}",${KEYS}}`,
  `{"cid":"${CID}","origins":[${'[],'.repeat(300_000)}[]]}`,
  `{"cid":"${CID}","meta":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`,
]

/** JSON that is far more expensive to parse or validate than its size suggests. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'thirty pin requests of 100,000 keys, three at a time',
    answers: [400],
    request: async server => {
      let left = 30
      let worst = 0
      const send = async (): Promise<void> => {
        while (left-- > 0) {
          const { status } = await server.ask('/psa/pins', post(BODIES[left % BODIES.length] ?? ''))
          worst = Math.max(worst, status)
        }
      }
      await Promise.all([send(), send(), send()])
      return worst
    },
    longestStallMs: 500,
  },
  {
    name: 'thirty logins of 110,000 keys without a credential',
    answers: [413],
    request: server => worstOf(server, 30, `{"email":"a@example.org","password":"a",${KEYS}}`),
    longestStallMs: 500,
  },
  {
    name: '350 malformed bodies from one address without a credential',
    answers: [429],
    request: server => worstOf(server, 350, '{"email":'),
  },
]

function post(body: string) {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body }
}

/** Sends the requests one after the other. Returns the highest status. */
async function worstOf(server: AbusedServer, count: number, body: string): Promise<number> {
  let worst = 0
  for (let i = 0; i < count; i++) {
    worst = Math.max(worst, (await server.ask('/api/v3/auth/login', post(body))).status)
  }
  return worst
}
