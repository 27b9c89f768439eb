// The pages of what the package's entries declare, from the sources of each. A type that stands in a signature and is on no
// page, and a link that leads nowhere, are errors.
import { readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const { exports: entries } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

export default {
  name: 'Holdfast',
  // The build writes the types of the client's answers.
  entryPoints: Object.entries(entries).flatMap(([name, { types }]) => {
    if (types === undefined) return []
    return name === './client' ? types.replace('.', '../..') : types.replace('./dist', '../..').replace('.d.ts', '.ts')
  }),
  tsconfig: 'tsconfig.json',
  out: '../../api-pages',
  readme: 'none',
  disableGit: true,
  sourceLinkTemplate: '{path}:{line}',
  excludeInternal: true,
  excludePrivate: true,
  excludeExternals: true,
  validation: { notExported: true, invalidLink: true, notDocumented: false },
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
}
