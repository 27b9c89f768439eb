import { expect, test } from 'vitest'
import { type Bill, billOfRelease, packagesOf } from '../../tools/bill-of-materials.ts'

const NEEDS: Readonly<Record<string, readonly string[]>> = {
  'holdfast@1.0.0': ['@libp2p/tcp@1.0.0', 'undici@2.0.0', 'pg@3.0.0', 'vitest@4.0.0'],
  '@libp2p/tcp@1.0.0': ['inside@1.0.0', 'unused@1.0.0'],
  'undici@2.0.0': ['below@1.0.0'],
  'below@1.0.0': ['undici@2.0.0'],
  'inside@1.0.0': [],
  'inside@2.0.0': [],
  'pg@3.0.0': [],
  'vitest@4.0.0': ['inside@2.0.0'],
  'unused@1.0.0': [],
}

function componentOf(ref: string): Bill['components'][number] {
  const [, group, name = '', version = ''] = /^(?:(@\w+)\/)?(\w+)@(.+)$/.exec(ref) ?? []
  return { 'bom-ref': ref, ...(group === undefined ? {} : { group }), name, version, properties: [{ name: 'a' }] }
}

const all: Bill = {
  metadata: { component: { 'bom-ref': 'holdfast@1.0.0', name: 'clone', version: '1.0.0' } },
  components: Object.keys(NEEDS).slice(1).map(componentOf),
  dependencies: Object.entries(NEEDS).map(([ref, needs]) => ({ ref, dependsOn: [...needs] })),
}
const manifest = { name: 'holdfast', dependencies: { undici: '^2.0.0' } }

test('the list has installed and bundled packages, and no others', () => {
  const bill = billOfRelease(all, manifest, ['@libp2p/tcp 1.0.0', 'inside 1.0.0', 'pg 3.0.0'])
  const refs = bill.components.map(component => component['bom-ref'])
  expect(refs).toEqual(['@libp2p/tcp@1.0.0', 'undici@2.0.0', 'below@1.0.0', 'inside@1.0.0', 'pg@3.0.0'])
  expect(bill.metadata.component.name).toBe('holdfast')
  const needed = new Set(bill.dependencies.flatMap(({ dependsOn }) => dependsOn ?? []))
  expect([...needed].toSorted()).toEqual(refs.toSorted())
})

test('a bundled package outside of the lockfile is an error', () => {
  expect(() => billOfRelease(all, manifest, ['inside 3.0.0'])).toThrow('not in the lockfile: inside 3.0.0')
})

test('the licences of a bundle name its packages', () => {
  const rule = '-'.repeat(80)
  const text = `The bundled packages and their licences.\n\n@a/b 1.0.0 (MIT)\n\nMIT\n\n${rule}\n\nc 2.0.0-rc.1 (ISC)\n\nISC\n`
  expect(packagesOf(text)).toEqual(['@a/b 1.0.0', 'c 2.0.0-rc.1'])
})
