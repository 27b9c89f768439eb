import { existsSync, globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

interface Metadata {
  exports: Record<string, string | { types: string; default: string }>
  bin: Record<string, string>
  files: string[]
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: Record<string, { optional?: boolean }>
  scripts: Record<string, string>
}

const metadata = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Metadata

/** Sources from which `dist` is built. */
const sources = globSync('{src,adapters}/**/*.ts', { cwd: ROOT }).map(path => ({
  path,
  text: readFileSync(join(ROOT, path), 'utf8'),
}))

/** Returns the packages that the sources import, and whether any import remains at run time. */
function importedPackages(): Map<string, { atRuntime: boolean; from: string }> {
  const found = new Map<string, { atRuntime: boolean; from: string }>()
  const statement = /^\s*(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'([^'.][^']*)'|\bimport\('([^'.][^']*)'\)/gm
  for (const { path, text } of sources) {
    for (const [, type, named, dynamic] of text.matchAll(statement)) {
      const specifier = named ?? dynamic ?? ''
      if (specifier.startsWith('node:') || builtinModules.includes(specifier)) continue
      const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
      const atRuntime = type === undefined || found.get(name)?.atRuntime === true
      found.set(name, { atRuntime, from: path })
    }
  }
  return found
}

/** Returns the source of a file in `dist`. */
function sourceOf(built: string): string {
  return built.replace(/^\.\/dist\//, '').replace(/(\.d\.ts|\.js)$/, '.ts')
}

describe('the package', () => {
  test('has entries and commands that are built from existing sources', () => {
    const entries = [
      '.',
      './catalogue',
      './node-http',
      './fetch',
      './fastify',
      './console',
      './kubo',
      './ipfs-cluster',
      './holdfast',
      './oidc',
      './opentelemetry',
      './postgres',
      './client',
      './testing',
      './package.json',
    ]
    expect(Object.keys(metadata.exports)).toEqual(entries)
    for (const entry of Object.values(metadata.exports)) {
      if (typeof entry === 'string') continue
      expect(Object.keys(entry)).toEqual(['types', 'default'])
      expect(sourceOf(entry.types)).toBe(sourceOf(entry.default))
      expect(existsSync(join(ROOT, sourceOf(entry.default))), entry.default).toBe(true)
    }
    for (const command of Object.values(metadata.bin)) {
      expect(
        readFileSync(join(ROOT, `adapters${command.replace('./dist', '').replace('.js', '.ts')}`), 'utf8'),
      ).toMatch(/^#!\/usr\/bin\/env (-S )?node\b/)
    }
    expect(metadata.files).toContain('dist')
  })

  test('depends on exactly what it imports', () => {
    const imported = importedPackages()
    const needed = [...imported].filter(([, { atRuntime }]) => atRuntime).map(([name]) => name)
    const optional = Object.keys(metadata.peerDependenciesMeta).filter(
      name => metadata.peerDependenciesMeta[name]?.optional === true,
    )
    // They are loaded only if configured, and the operator installs them.
    expect(needed.filter(name => !(name in metadata.dependencies)).toSorted()).toEqual([
      '@opentelemetry/api',
      'openid-client',
      'pg',
    ])
    // The bundled server imports the native part of `datastore-level` itself.
    const unused = Object.keys(metadata.dependencies).filter(name => !imported.has(name))
    expect(unused).toEqual(['classic-level'])
    const typesOnly = [...imported.keys()].filter(name => !(name in metadata.dependencies))
    expect(typesOnly.toSorted()).toEqual(optional.toSorted())
  })

  test('has scripts that install what a bare clone needs', () => {
    const { scripts } = metadata
    const hook = 'node tools/node-runtime/ensure.mjs'
    const own = Object.keys(scripts).filter(name => !(name.startsWith('pre') && name.slice(3) in scripts))
    expect(own.length).toBeGreaterThan(5)
    for (const name of own.filter(name => !/^(pre|post)(pack|publishOnly)$/.test(name))) {
      const isServer = name === 'start' || name === 'holdfast'
      expect(scripts[`pre${name}`], name).toBe(isServer ? hook : `${hook} --dev`)
    }
  })
})
