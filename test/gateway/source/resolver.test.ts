import { expect, test, vi } from 'vitest'
import { decodeNode } from '../../../src/content/unixfs/node.ts'
import { findEntry } from '../../../src/gateway/source/resolver.ts'
import { MapReader } from '../map-reader.ts'
import { directoryBlock, rawBlock } from '../world.ts'

test('a search of a large directory stops when its request ends', async () => {
  const [file] = await rawBlock(Buffer.from('x'))
  const links = Array.from({ length: 10_000 }, () => ['a', file] as const)
  const node = decodeNode(...(await directoryBlock([...links, ['b', file]])))
  const blocks = MapReader.over(new Map())
  expect(await findEntry(blocks, node, 'b')).toEqual(file)
  const turn = vi.spyOn(blocks.budget, 'turn').mockReturnValueOnce(null)
  turn.mockRejectedValueOnce(new Error('the client has left'))
  await expect(findEntry(blocks, node, 'none')).rejects.toThrow('the client has left')
  expect(turn).toHaveBeenCalledTimes(2)
})
