import { expect, test } from 'vitest'
import { needs } from '../support/needs.ts'
import { canRecord, cutPower } from './power-cut/power-cut.ts'
import { SimulatedDirectory, SimulatedDisk, SimulatedFile } from './power-cut/simulated-disk.ts'

const SEED = Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))

test('the simulated disk keeps only what was synced beforehand', () => {
  const disk = new SimulatedDisk('/home')
  disk.makeDirectory('/home/blocks')
  const file = disk.createFile('/home/blocks/temp')
  const blocks = disk.find('/home/blocks')
  if (file === undefined || !(blocks instanceof SimulatedDirectory)) throw new Error('nothing was made')
  disk.write(file, 0, Buffer.from('synced'))
  const end = disk.beginSync(file)
  disk.write(file, 6, Buffer.from(' too late'))
  expect(Buffer.from(file.durable).toString()).toBe('')
  end()
  expect(Buffer.from(file.durable).toString()).toBe('synced')
  expect(file.length).toBe(15)

  disk.beginSync(blocks)()
  disk.rename('/home/blocks/temp', '/home/blocks/name')
  expect([...blocks.durable.keys()]).toEqual(['temp'])
  disk.beginSync(blocks)()
  expect([...blocks.durable.keys()]).toEqual(['name'])
  disk.remove('/home/blocks/name')
  expect(disk.find('/home/blocks/name')).toBeUndefined()
  expect(blocks.durable.get('name')).toBe(file)
  const home = disk.find('/home')
  expect(home instanceof SimulatedDirectory && home.durable.size).toBe(0)
  expect(file).toBeInstanceOf(SimulatedFile)
})

const options = { timeout: 120_000, ...needs(canRecord(), 'strace is missing or may not trace') }

test('a power cut loses nothing acknowledged and leaves no stray file', options, async () => {
  console.log(`power cut: seed ${SEED}`)
  const { rounds, readBack } = await cutPower({ rounds: 2, seed: SEED })
  expect(rounds).toBe(2)
  expect(readBack).toBeGreaterThan(0)
})
