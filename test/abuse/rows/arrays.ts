import type { AbuseRow } from '../row.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

/** Arrays that a validator would describe item by item. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'two hundred thousand origins that are none',
    answers: [400],
    request: async server => {
      const bodies = [1, 'a'].map(item => ({ origins: Array.from({ length: 200_000 }, () => item) }))
      const path = `/api/v3/files/pin/${CID}`
      const answers = await Promise.all(bodies.map(body => server.askJson('POST', path, body)))
      return Math.max(...answers.map(({ status }) => status))
    },
  },
]
