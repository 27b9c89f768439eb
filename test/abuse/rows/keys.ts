import * as dagCbor from '@ipld/dag-cbor'
import { CODEC } from '../../../src/ipld/cid.ts'
import { carOf } from '../../content/car/support/cars.ts'
import { blockOf } from '../../pins/fetches/support/dags.ts'
import type { AbuseRow } from '../row.ts'

/** Default limit of live keys in a plan. */
const KEYS = 100

const DEAD_PINS = 600
const ROOTS_IN_A_CAR = 100

/** Requests that each leave a little behind. */
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
  {
    name: 'one more pin beside hundreds whose content is unavailable',
    answers: [404],
    setUp: async server => {
      for (let from = 0; from < DEAD_PINS; from += ROOTS_IN_A_CAR) {
        const { status, body } = await server.ask('/api/v3/files/car?allowPartial=true', {
          method: 'POST',
          headers: { 'content-type': 'application/vnd.ipld.car' },
          body: await deadCar(from),
        })
        if (status !== 201) throw new Error(`the pins were refused: ${status} ${body}`)
      }
    },
    request: async server => {
      const { cid } = blockOf(CODEC.raw, Buffer.from('one more'))
      return (await server.askJson('POST', `/api/v3/files/pin/${cid}`, {})).status
    },
  },
]

/** Returns a CAR of roots that each link to a block that exists nowhere. */
function deadCar(from: number): Promise<Buffer> {
  const roots = Array.from({ length: ROOTS_IN_A_CAR }, (_, at) => {
    const gone = blockOf(CODEC.raw, Buffer.from(`gone ${from + at}`)).cid
    return blockOf(CODEC.dagCbor, dagCbor.encode({ gone }))
  })
  return carOf(
    roots.map(({ cid }) => cid),
    roots,
  )
}
