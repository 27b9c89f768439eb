interface Component {
  'bom-ref': string
  group?: string
  name: string
  version: string
  properties?: unknown[]
}

/** A list of packages in the format CycloneDX, as npm prints it. */
export interface Bill {
  metadata: { component: Component }
  components: Component[]
  dependencies: Array<{ ref: string; dependsOn?: string[] }>
}

/**
 * Returns the list of a release: packages that npm installs with it, and packages inside its own files.
 * @param all list of all packages of the lockfile
 * @param manifest metadata of the published package
 * @param bundled packages inside its files, each with its version: `pg 8.23.1`
 * @throws Error if a bundled package is not in the lockfile
 */
export function billOfRelease(
  all: Bill,
  manifest: { name: string; dependencies: Readonly<Record<string, string>> },
  bundled: readonly string[],
): Bill {
  const packages = new Map(all.components.map(component => [component['bom-ref'], component]))
  const needs = new Map(all.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn ?? []]))
  const root = all.metadata.component['bom-ref']
  const inside = new Set(bundled)
  const refs = all.components.filter(one => inside.delete(`${nameOf(one)} ${one.version}`)).map(one => one['bom-ref'])
  if (inside.size > 0) throw new Error(`not in the lockfile: ${[...inside].join(', ')}`)
  const installed = new Set((needs.get(root) ?? []).filter(ref => nameOf(packages.get(ref)) in manifest.dependencies))
  // The loop also visits what it adds.
  for (const ref of installed) for (const next of needs.get(ref) ?? []) installed.add(next)
  const kept = new Set([...installed, ...refs])
  const direct = new Set([...(needs.get(root) ?? []), ...refs])
  return {
    ...all,
    metadata: { ...all.metadata, component: { ...all.metadata.component, name: manifest.name } },
    components: all.components.filter(one => kept.has(one['bom-ref'])).map(one => ({ ...one, properties: [] })),
    dependencies: [
      { ref: root, dependsOn: [...direct].filter(ref => kept.has(ref)) },
      ...all.dependencies
        .filter(({ ref }) => kept.has(ref))
        .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(next => kept.has(next)) })),
    ],
  }
}

/** Returns the packages that a list of licences names, each with its version. */
export function packagesOf(licences: string): string[] {
  const [, ...texts] = licences.split(/\n\n-{80}\n\n|^The bundled packages and their licences\.\n\n/)
  return texts.map(text => /^\S+ \S+/.exec(text)?.[0] ?? '')
}

function nameOf(component: Component | undefined): string {
  if (component === undefined) return ''
  return component.group === undefined ? component.name : `${component.group}/${component.name}`
}
