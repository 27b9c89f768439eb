import { execFileSync } from 'node:child_process'

/** Branches that a change may target, the likeliest first. */
const TARGETS = ['origin/main', 'main']

/**
 * Returns the subjects of the commits since the merge base with the target branch. A clone without that branch counts
 * from the last tag. Without a tag or a repository the list is empty.
 */
export function commitSubjects(directory: string): string[] {
  const base = firstOf([...TARGETS.map(target => ['merge-base', 'HEAD', target]), ['describe', '--tags', '--abbrev=0']])
  if (base === undefined) return []
  return (git(['log', '--no-merges', '--format=%s', `${base}..HEAD`]) ?? '').split('\n').filter(Boolean)

  function firstOf(commands: string[][]): string | undefined {
    for (const command of commands) {
      const answer = git(command)
      if (answer !== undefined) return answer
    }
    return undefined
  }

  function git(command: string[]): string | undefined {
    try {
      return execFileSync('git', command, {
        cwd: directory,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }).trim()
    } catch {
      return undefined
    }
  }
}
