import type { AbuseRow } from '../row.ts'

/** What a plan allows of keys, unless it says otherwise. */
const KEYS = 100

/** What piles up where each request adds a little. Waiting pins are tested by count, and by the bench `loop`. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'more keys than a plan allows',
    answers: [403],
    request: async server => {
      let last = 0
      for (let i = 0; i <= KEYS; i++) {
        last = (await server.askJson('POST', '/api/v3/tokens/generate', { name: `key ${i}` })).status
      }
      return (await server.ask('/api/v3/tokens/list')).status === 200 ? last : 0
    },
  },
]
