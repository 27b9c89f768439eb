import * as dagCbor from '@ipld/dag-cbor'
import { expect, test } from 'vitest'
import { HoldfastError } from '../../src/domain/errors.ts'
import { CODEC, identityOf } from '../../src/ipld/cid.ts'
import { problemOfSample } from '../../src/upkeep/read-sample.ts'
import { blockOf, leaf } from '../pins/fetches/support/dags.ts'
import { ManualClock } from '../support/manual-clock.ts'

test('a sample over its block limit ends without a problem', async () => {
  const links = Array.from({ length: 10 }, (_, index) => leaf(Buffer.from(`link ${index}`)).root)
  const root = blockOf(CODEC.dagCbor, dagCbor.encode(links))
  const reader = {
    read: async (cid: { equals(other: unknown): boolean }) => {
      if (cid.equals(root.cid)) return root.bytes
      throw new HoldfastError('CID_NOT_FOUND', 'it lacks all links')
    },
  }
  const parts = { reader, clock: new ManualClock(), signal: new AbortController().signal }
  const dag = identityOf(root.cid)
  expect(await problemOfSample(dag, { ...parts, maxBlocks: 11 })).toMatchObject({ code: 'CID_NOT_FOUND' })
  expect(await problemOfSample(dag, { ...parts, maxBlocks: 10 })).toBeNull()
})
