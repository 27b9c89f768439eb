import { expect, test } from 'vitest'
import { ClusterRegistry } from '../../src/clusters/cluster-registry.ts'
import type { StagingBackend } from '../../src/clusters/staging-backend.ts'

/** The registry only compares backends. */
const backendOf = (id: number) => ({ id, reader: null }) as unknown as StagingBackend
const cluster = { label: '', region: '', country: null, gateways: [] }

test('clusters share a system on this node and on others', () => {
  const [own, other] = [backendOf(0), backendOf(1)]
  const backend = { type: 'kubo', api: 'http://127.0.0.1:5001' }
  const registry = new ClusterRegistry({
    clusters: [
      { ...cluster, id: 'a1', node: 'a' },
      { ...cluster, id: 'a2', node: 'a' },
      { ...cluster, id: 'a3', node: 'a', dataDir: '/other' },
      { ...cluster, id: 'b1', node: 'b' },
      { ...cluster, id: 'b2', node: 'b' },
      { ...cluster, id: 'b3', node: 'b', backend },
      { ...cluster, id: 'b4', node: 'b', backend: { ...backend } },
      { ...cluster, id: 'c1', node: 'c' },
      { ...cluster, id: 'c2', node: 'c', absent: true },
    ],
    defaultCluster: 'a1',
    defaultBackend: own,
    backends: new Map([['a3', other]]),
    node: 'a',
    gatewayUrl: 'http://127.0.0.1/ipfs/',
  })
  expect(registry.ids.slice(0, 8).map(id => registry.sharing(id).join())).toEqual([
    ...['a1,a2', 'a1,a2', 'a3'],
    ...['b1,b2', 'b1,b2', 'b3,b4', 'b3,b4'],
    'c1',
  ])
  expect(() => registry.sharing('c2')).toThrow('absent')
})

test('each node of a cluster may receive its content', () => {
  const at = (node: string) =>
    new ClusterRegistry({
      clusters: [
        { ...cluster, id: 'many', node: 'a', nodes: ['a', 'b'], copies: 2 },
        { ...cluster, id: 'one', node: 'a' },
      ],
      defaultCluster: 'many',
      defaultBackend: backendOf(0),
      backends: new Map(),
      node,
      gatewayUrl: 'http://127.0.0.1/ipfs/',
    })
  const [first, second, other] = [at('a'), at('b'), at('c')]
  for (const [registry, may] of [
    [first, [true, true]],
    [second, [true, false]],
    [other, [false, false]],
  ] as const) {
    expect(['many', 'one'].map(id => registry.mayReceive(id))).toEqual(may)
  }
  expect([second.nodesOf('many'), second.copiesOf('many'), second.copiesOf('one')]).toEqual([['a', 'b'], 2, 1])
  expect(second.backendOf('many').id).toBe(0)
  expect(() => second.backendOf('one')).toThrow('kept by the node a')
  expect(() => other.backendOf('many')).toThrow('kept by the node a')
})
