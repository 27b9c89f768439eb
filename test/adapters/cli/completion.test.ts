import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMANDS } from '../../../adapters/cli/commands.ts'
import { completionTable } from '../../../adapters/cli/completions.ts'
import { needs } from '../../support/needs.ts'
import { runHoldfast, temporaryDirectory } from '../../support/server-process.ts'

const SHELLS = ['bash', 'zsh', 'fish'] as const
const isThere = (shell: string): boolean => spawnSync(shell, ['-c', 'true']).status === 0

let directory: ReturnType<typeof temporaryDirectory>
beforeAll(async () => {
  directory = temporaryDirectory()
  for (const shell of SHELLS) {
    const { stdout, stderr } = await runHoldfast(['completion', shell])
    expect(stderr).toBe('')
    writeFileSync(join(directory.path, `script.${shell}`), stdout)
  }
})
afterAll(() => directory.remove())

/** Runs a script in a shell, and returns the lines of its output. */
function linesOf(shell: string, script: string): string[] {
  const { stdout, stderr } = spawnSync(shell, ['-c', script], { cwd: directory.path, encoding: 'utf8' })
  expect(stderr).toBe('')
  return stdout.split('\n').filter(line => line !== '')
}

/** Returns what bash suggests for the last word. A trailing space begins a new word. */
function suggested(line: string, { told = false } = {}): string[] {
  const words = line.split(' ')
  const script = `source ./script.bash; compopt() { echo 'no paths'; }; COMP_WORDS=(${words.map(word => `'${word}'`).join(' ')})
    COMP_CWORD=${words.length - 1}; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
  return linesOf('bash', script).filter(word => told || word !== 'no paths')
}

describe('bash', needs(isThere('bash'), 'there is no bash'), () => {
  test.each<[string, string[]]>([
    ['holdfast upl', ['upload']],
    ['holdfast delet', ['delete']],
    ['holdfast account en', ['enable', 'end-sessions']],
    ['holdfast account create --e', ['--email']],
    ['holdfast help account en', ['enable', 'end-sessions']],
    ['holdfast put --ti', ['--timelock']],
    ['holdfast serve --p', ['--port']],
    ['holdfast backup ch', ['check']],
    ['holdfast backup check --rep', ['--repair']],
    ['holdfast completion ', ['bash', 'zsh', 'fish', '--help']],
    ['holdfast get --out ', []],
    ['holdfast rm --cluster ', []],
    ['holdfast nothing ', []],
  ])('suggests after %j %j', (line, words) => {
    expect(suggested(line)).toEqual(words)
  })

  test('suggests every command', () => {
    const first = suggested('holdfast ')
    for (const command of Object.keys(COMMANDS)) expect(first).toContain(command.split(' ')[0])
  })

  test('allows paths only where one belongs', () => {
    const lines = ['upload si', 'get --out ', 'backup check ', 'rm si', 'rm --cluster ', 'get baf', 'up']
    const withPaths = lines.filter(line => !suggested(`holdfast ${line}`, { told: true }).includes('no paths'))
    expect(withPaths).toEqual(['upload si', 'get --out ', 'backup check '])
  })
})

test('zsh reads its script', needs(isThere('zsh'), 'there is no zsh'), () => {
  expect(linesOf('zsh', 'autoload -U compinit; compinit -D; source ./script.zsh; echo $_comps[holdfast]')).toEqual([
    '_holdfast',
  ])
})

test('fish suggests commands and flags', needs(isThere('fish'), 'there is no fish'), () => {
  const lines = linesOf(
    'fish',
    'source ./script.fish; complete -C "holdfast account en"; complete -C "holdfast put --ti"',
  )
  expect(lines.map(line => line.split('\t')[0])).toEqual(['enable', 'end-sessions', '--timelock'])
})

test('another shell is refused with the names of the three', async () => {
  const stderr = 'holdfast: the shell must be bash, zsh or fish, not tcsh\n'
  expect(await runHoldfast(['completion', 'tcsh'])).toEqual({ code: 2, stdout: '', stderr })
})

test('every flag of a command has a completion', () => {
  const upload = completionTable().find(({ topics }) => topics.includes('upload'))
  expect(upload?.topics).toEqual(['upload', 'add', 'put'])
  expect(upload?.valueFlags).toEqual(['--name', '--cluster', '--timelock', '--meta', '--api', '--key'])
})
