import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { bundlePackages, type Metadata, published } from '../../tools/bundled-packages.ts'
import { withTempDir } from '../support/temp-dir.ts'

const ROOT = join(import.meta.dirname, '../..')
const metadata = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Metadata

test('the published package depends on no package of the network', () => {
  const { dependencies, devDependencies } = published(metadata)
  const foreign = Object.keys(dependencies).filter(name => /libp2p|helia/.test(name))
  expect(foreign).toEqual([])
  expect({ ...devDependencies, ...dependencies }).toEqual({ ...metadata.devDependencies, ...metadata.dependencies })
})

// Modules below it find the packages of the clone.
const CACHE = join(ROOT, 'node_modules/.cache')

test('the built library has bundled packages in itself, and imports all others', () => {
  // A fresh clone has none.
  mkdirSync(CACHE, { recursive: true })
  return withTempDir(async dist => {
    const modules = {
      'src/network/one.js': "import { multiaddr } from '@multiformats/multiaddr'\nimport { three } from '../three.js'",
      'src/two.js': "import { murmur364 } from '@multiformats/murmur3'\nimport { three } from './three.js'",
      'src/three.js': "import { CID } from 'multiformats/cid'",
      'adapters/remote/four.js': "import { Value } from 'typebox/value'\nimport { three } from '../../src/three.js'",
    }
    const uses = { one: '[multiaddr, three]', two: '[murmur364, three]', three: 'CID', four: '[Value, three]' }
    for (const [path, text] of Object.entries(modules)) {
      mkdirSync(dirname(join(dist, path)), { recursive: true })
      const name = basename(path, '.js') as keyof typeof uses
      writeFileSync(join(dist, path), `${text}\nexport const ${name} = ${uses[name]}\n`)
    }
    const untouched = readFileSync(join(dist, 'src/three.js'), 'utf8')
    const bundled = await bundlePackages(dist, ROOT)
    expect(bundled.some(id => id.includes('@multiformats/multiaddr'))).toBe(true)
    const texts = globSync('**/*.js', { cwd: dist }).map(path => readFileSync(join(dist, path), 'utf8'))
    const imported = texts.flatMap(text =>
      [...text.matchAll(/^import .* from ['"]([^'"]+)['"]/gm)].map(([, id = '']) => id),
    )
    expect(imported).toContain('../three.js')
    expect(imported).toContain('multiformats/cid')
    expect(imported.filter(id => /multiaddr|libp2p|typebox/.test(id) && !id.startsWith('.'))).toEqual([])
    expect(readFileSync(join(dist, 'src/three.js'), 'utf8')).toBe(untouched)
  }, CACHE)
})
