import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { commitSubjects } from '../../tools/prose/commits.ts'
import { lint } from '../../tools/prose/linter.ts'
import { withTempDir } from '../support/temp-dir.ts'

const RED = [
  'What has none of it has answered well.',
  'That no node had been granted when this was.',
  'By which nodes tell each other, each by its name, that there is something to do.',
  'For so long no slow one is looked for after none was found.',
  'What has to stay is looked at again after all others.',
  'What was let go of there, and not yet here, is needed here again.',
  'Makes the new name survive a power cut, where whoever runs the node may read what it is in.',
  'Does what is left to be done, and once more if it is called meanwhile.',
  'Answers one after the other that a backend may owe before it is taken to be away.',
  'tell how far a pin is',
  'have an address told of what becomes of your pins',
  'put right what does not fit together',
  'Who embeds an engine mounts it or not.',
  'Nothing is like that.',
  'What no pin needs goes by itself, a while after it was let go.',
  'what a watch tells of nobody has what was written, too',
  'Whether a record is over.',
  'Of one address.',
  'The backend is told when a record leaves.',
  'The window comes to an end.',
  'The blocks are kept elsewhere.',
  'A node that holds a block answers for it, and then it asks the next node, which holds none of the others, so that both know of both.',
]

const GREEN = [
  'A gateway that answers "not found" is healthy.',
  'Requests of the window not yet granted to any node.',
  'Words whose condition the row checks repeat, so the index lookup alone decides.',
  'NOTIFY channel: wakes the node named in the payload.',
  'After a search that found no slow slot, wait this long before searching again, in ms.',
  'Incremented each time the slot is reused.',
  'Cannot be evicted: move it to the end of the queue.',
  'The cluster has unpinned it but the local hold remains, so its blocks must stay on disk.',
  'fsyncs the parent directory, if we may open it.',
  'Runs the pending work. A call during a run schedules one more.',
  'Consecutive failures after which a backend counts as unreachable.',
  'Blocks in the backup, and how many of them this run added.',
  'Need more than one machine? Keep a cluster on Kubo (docs/clusters.md).',
  'Show the status of a pin',
  'Send pin events to a URL',
  'Find and repair inconsistencies',
  'Create a data directory from a backup',
  'Other users can see command-line flags, but not environment variables.',
  'Sign-up is off by default. Create accounts with `holdfast account create`.',
  'When you embed the engine, you mount it yourself.',
  'No pins match these filters.',
  'Unused blocks are deleted automatically after a grace period.',
  'Skipped in site (symlinks and empty directories cannot be uploaded):',
  'event-loop watch reports unowned stalls with the last log line',
  'There is no index, so there may be a scan.',
  'What does it cost?',
]

const rulesOf = async (path: string, text: string) =>
  (await lint(path, text)).map(({ rule, line }) => `${line} ${rule}`)

describe('the rules of prose', () => {
  test.each(RED)('find a fault in: %s', async sentence => {
    expect(await lint('a.ts', `/** ${sentence} */\nconst a = 1`)).not.toEqual([])
  })

  test.each(GREEN)('let pass: %s', async sentence => {
    expect(await lint('a.ts', `/** ${sentence} */\nconst a = 1`)).toEqual([])
    expect(await lint('a.md', sentence)).toEqual([])
  })
})

describe('the texts of a file', () => {
  test('are comments and messages in TypeScript', async () => {
    const source = [
      '// One comment goes on',
      '// in a second line. Whoever waits.',
      '/**',
      ' * Returns a pin.',
      ' *',
      ' * - What it has.',
      ' */',
      'throw new Error(`what is asked cannot be had`)',
      'run("what", "SELECT what FROM a WHERE it is told of b")',
      'const page = html`<p title="what a key may do">what has become of it</p>`',
    ]
    expect(await rulesOf('src/a.ts', source.join('\n'))).toEqual([
      '1 subject',
      '1 phrase',
      '6 subject',
      '8 subject',
      '10 subject',
      '10 subject',
    ])
  })

  test('are comments and titles in a test', async () => {
    const source = "describe('what goes', () => test.each(rows)('what stays', () => run('what is only input of it')))"
    expect(await rulesOf('test/a.test.ts', source)).toEqual(['1 subject', '1 subject'])
    expect(await lint('test/a.test.ts', `test('${'word '.repeat(12)}', run)`)).toEqual([])
    expect(await rulesOf('test/a.test.ts', `test('${'word '.repeat(13)}', run)`)).toEqual(['1 length'])
  })

  test('are paragraphs, cells and list items in Markdown, but no code', async () => {
    const source = '# What is new\n\n```\nWhat is code.\n```\n\nSee `what is here`.\n\n| a | What |\n\n- What\n  goes'
    expect(await rulesOf('a.md', source)).toEqual(['9 subject', '11 subject'])
  })

  test('are those of the first section in a changelog', async () => {
    const source = '# Changelog\n\n## Unreleased\n\nWhat is new.\n\n## 0.1.0\n\nWhat was new.\n'
    expect(await rulesOf('CHANGELOG.md', source)).toEqual(['5 subject'])
  })

  test('have sentences of 25 words at most', async () => {
    expect(await lint('a.md', `${'word '.repeat(25)}.`)).toEqual([])
    expect(await rulesOf('a.md', `${'word '.repeat(26)}.`)).toEqual(['1 length'])
  })
})

describe('the subjects of commits', () => {
  test('have 72 characters at most', async () => {
    expect(await lint('a.subject', 'a'.repeat(72))).toEqual([])
    expect(await rulesOf('a.subject', 'a'.repeat(73))).toEqual(['1 length'])
  })

  test('are those after the merge base, or else after the last tag', async () => {
    await withTempDir(async directory => {
      const git = (...command: string[]) =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...command], {
          cwd: directory,
          stdio: 'ignore',
        })
      const commit = (subject: string) => git('commit', '--allow-empty', '-m', subject)
      expect(commitSubjects(directory)).toEqual([])
      git('init', '-b', 'main')
      commit('one')
      expect(commitSubjects(directory)).toEqual([])
      git('checkout', '-b', 'change')
      commit('two')
      git('tag', 'v1')
      commit('three')
      expect(commitSubjects(directory)).toEqual(['three', 'two'])
      git('branch', '-D', 'main')
      expect(commitSubjects(directory)).toEqual(['three'])
    })
  })
})
