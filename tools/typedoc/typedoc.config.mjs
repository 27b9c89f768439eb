// The pages of what the package's entries declare, from the sources of each. A type that stands in a signature and is on no
// page, and a link that leads nowhere, are errors.
import { readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const { exports: entries } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

export default {
  name: 'Holdfast',
  entryPoints: Object.values(entries).flatMap(({ types }) =>
    types === undefined ? [] : [types.replace('./dist/', '../../').replace('.d.ts', '.ts')],
  ),
  tsconfig: '../../tsconfig.build.json',
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
