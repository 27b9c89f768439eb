/**
 * Returns the section of a version in the changelog, without its heading. Links to files of the project begin with
 * `base`, because the page of a release is not beside the files.
 *
 * @throws if there is no such section
 */
export function notesOf(changelog: string, version: string, base: string): string {
  const [, ...sections] = changelog.split(/^## /m)
  const section = sections.find(text => text.split(/[\s(]/, 1)[0] === version)
  if (section === undefined) throw new Error(`CHANGELOG.md has no section ${version}`)
  const notes = section.slice(section.indexOf('\n')).trim()
  return `${notes.replace(/\]\((?![a-z]+:|#)/g, `](${base}`)}\n`
}
