import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { SendableBlocks } from '../../../adapters/ipfs-cluster/sendable-blocks.ts'
import { carBytes } from '../../../adapters/remote/car-bytes.ts'
import type { BlockSource } from '../../../src/content/block-source.ts'
import { orAborted } from '../../../src/domain/sources.ts'

test('a CAR whose source does not answer ends with its signal', async () => {
  const root = CID.parse('bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy')
  const silent: BlockSource = { read: (_cid, options) => orAborted(new Promise(() => undefined), options?.signal) }
  for (const source of [silent, new SendableBlocks(silent)]) {
    const controller = new AbortController()
    const car = carBytes(root, source, { signal: controller.signal })
    await car.next()
    const block = car.next()
    controller.abort(new Error('enough'))
    await expect(block).rejects.toThrow('enough')
  }
})
