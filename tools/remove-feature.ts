// Removes a feature from a tree of the sources: its rooms, and what marks name it for.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Matches the mark of a feature, alone in its line or behind a line of code. */
const MARK = /(?:\/\/|\/\*|<!--) feature: (\S+)/
const ALONE = /^\s*(?:\/\/ feature: \S+|\/\/ end)$/
const END = /^\s*\/\/ end$/

/** Directories and files of a feature, relative to the root of the sources. */
function roomsOf(root: string, feature: string): string[] {
  const named = globSync(`{src/wiring,adapters,test/adapters}/**/${feature}{,.ts,-*.ts}`, {
    cwd: root,
    exclude: ['**/node_modules/**'],
  })
  return [
    `src/features/${feature}`,
    `test/features/${feature}`,
    ...named.map(path => path.replaceAll('\\', '/')),
  ].sort()
}

/**
 * Returns a text without the lines of a feature. Such a line has the feature's mark behind it, or is between that mark
 * and the next one or `// end`.
 */
function withoutMarked(text: string, feature: string): string {
  if (!text.includes(`feature: ${feature}`)) return text
  let isOwn = false
  let hasOpen = false
  return text
    .split('\n')
    .filter(line => {
      const isOfFeature = MARK.exec(line)?.[1] === feature
      if (!ALONE.test(line)) return !isOwn && !isOfFeature
      if (!END.test(line)) {
        isOwn = isOfFeature
        hasOpen ||= !isOwn
        return !isOwn
      }
      const isKept = hasOpen
      isOwn = false
      hasOpen = false
      return isKept
    })
    .join('\n')
}

/** Removes a feature. Returns the number of marked blocks and lines by file. */
export function removeFeature(root: string, feature: string): Map<string, number> {
  for (const path of roomsOf(root, feature)) rmSync(join(root, path), { recursive: true, force: true })
  const marks = new Map<string, number>()
  const sources = globSync('{src,adapters,test,bench,tools}/**/*.ts', {
    cwd: root,
    exclude: path => basename(path) === 'node_modules',
  })
  for (const path of sources) {
    const text = readFileSync(join(root, path), 'utf8')
    const rest = withoutMarked(text, feature)
    if (rest === text) continue
    writeFileSync(join(root, path), rest)
    marks.set(path, text.split('\n').filter(line => MARK.exec(line)?.[1] === feature).length)
  }
  return marks
}

if (import.meta.main) {
  const [feature = ''] = process.argv.slice(2)
  const marks = removeFeature(dirname(import.meta.dirname), feature)
  for (const [path, count] of marks) console.log(`${path}: ${count}`)
}
