import type { AbuseRow } from '../row.ts'

const CID = 'bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy'

/** Arrays for which a careless validator would describe every item. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'two hundred thousand origins of the wrong type',
    answers: [400],
    request: async server => {
      const bodies = [1, 'a'].map(item => ({ origins: Array.from({ length: 200_000 }, () => item) }))
      const path = `/api/v3/files/pin/${CID}`
      const answers = await Promise.all(bodies.map(body => server.askJson('POST', path, body)))
      return Math.max(...answers.map(({ status }) => status))
    },
  },
]
