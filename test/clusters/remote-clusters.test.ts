import { expect, test } from 'vitest'
import type { AdapterMeans, BackendAdapter, OpenedPlace } from '../../src/clusters/backend-adapter.ts'
import { openRemotes } from '../../src/clusters/remote-clusters.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { MemoryCluster } from './memory-cluster.ts'

/** System whose methods need their own object, as those of a class do. */
class Place implements OpenedPlace {
  readonly reader = null
  readonly backend = new MemoryCluster()
  closed = 0

  connect(): MemoryCluster {
    return this.backend
  }

  async close(): Promise<void> {
    this.closed++
  }
}

const at = (id: string, place: string) => {
  const backend = { type: 'memory', place }
  return { id, label: '', region: '', country: null, gateways: [], backend }
}

function opening(fails: string | null = null) {
  const opened: Place[] = []
  const memory: BackendAdapter = {
    type: 'memory',
    schema: {},
    check: () => undefined,
    placeOf: ({ place }) => `memory ${place}`,
    open: async (id: string) => {
      if (id === fails) throw new Error('it does not open')
      return opened[opened.push(new Place()) - 1] ?? new Place()
    },
  }
  const means: AdapterMeans = { clock: new ManualClock(), environment: {} }
  const open = () =>
    openRemotes([at('a', 'one'), at('b', 'two'), at('c', 'one')], { ...means, adapters: [memory], backends: {} })
  return { opened, open }
}

test('opens each system once, calls it on its object, closes it once', async () => {
  const { opened, open } = opening()
  const { clusters, close } = await open()
  expect(opened).toHaveLength(2)
  expect(clusters.get('a')).toBe(clusters.get('c'))
  expect(clusters.get('a')?.connect('mark', () => [])).toBe(opened[0]?.backend)
  await close()
  expect(opened.map(({ closed }) => closed)).toEqual([1, 1])
})

test('closes the open systems if another cannot be opened', async () => {
  const { opened, open } = opening('b')
  await expect(open()).rejects.toThrow('it does not open')
  expect(opened.map(({ closed }) => closed)).toEqual([1])
})
