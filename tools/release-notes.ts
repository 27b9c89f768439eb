/** Returns the section of a version in the changelog, without its heading. @throws if there is none */
export function notesOf(changelog: string, version: string): string {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find(text => text.split(/[\s(]/, 1)[0] === version)
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`)
  return `${section.slice(section.indexOf('\n')).trim()}\n`
}
