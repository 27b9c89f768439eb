import { CODEC } from '../../../src/ipld/cid.ts'
import { blockOf } from '../../pins/fetches/support/dags.ts'
import { doublingDirectory, nestedDirectories } from '../dags.ts'
import type { AbuseRow } from '../row.ts'

/** Small CARs whose DAGs unfold into far more. */
export const rows: readonly AbuseRow[] = [
  {
    name: 'a CAR of 2^60 directory paths',
    answers: [200, 201, 400, 413],
    request: async server => (await server.importCar(doublingDirectory(60))).status,
  },
  {
    name: 'a CAR of twelve thousand nested directories',
    answers: [200, 201, 400],
    request: async server => (await server.importCar(nestedDirectories(12_000))).status,
  },
  {
    name: 'a CAR of a chain longer than a DAG may be deep',
    answers: [400],
    request: async server => (await server.importCar(nestedDirectories(14_000))).status,
  },
  {
    name: 'a CAR of one link of a million characters',
    answers: [400],
    request: async server => {
      const node = blockOf(CODEC.dagJson, Buffer.from(`{"link":{"/":"z${'2'.repeat(1_000_000)}"}}`))
      return (await server.importCar({ root: node.cid, blocks: [node], size: 0 })).status
    },
  },
]
