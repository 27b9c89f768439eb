import { doublingDirectory } from '../dags.ts'
import type { AbuseRow } from '../row.ts'

/** CARs of few bytes that stand for much. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'a CAR of 2^60 directory paths',
    answers: [200, 201, 400, 413],
    request: async server => (await server.importCar(doublingDirectory(60))).status,
  },
]
