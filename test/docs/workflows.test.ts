import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts
const workflows = globSync('.github/workflows/*.yml', { cwd: ROOT }).toSorted()
const tests = globSync('test/**/*.ts', { cwd: ROOT }).map(read).join('\n')

/** Returns the commands of a workflow: those of `run:`, and those of a matrix. */
function commandsOf(path: string): string[] {
  return read(path)
    .split('\n')
    .flatMap(line => /^\s*(?:- )?(?:run: )?((?:[A-Z_]+=\S+ )*(?:npm|npx|node) .*)$/.exec(line)?.[1] ?? [])
    .flatMap(line => line.split(' && '))
}

/** Returns why a command cannot run; null if it can. */
function problemOf(command: string): string | null {
  const words = command.split(/\s+/)
  const variables = words.filter(word => /^[A-Z_]+=/.test(word)).map(word => word.split('=')[0] ?? '')
  const unknown = variables.find(name => !tests.includes(`process.env.${name}`))
  if (unknown !== undefined) return `no test reads ${unknown}`
  const missing = words.find(word => /^(test|tools)\//.test(word) && !existsSync(join(ROOT, word)))
  if (missing !== undefined) return `${missing} does not exist`
  const [, script, flags = ''] = /^npm run (?:--silent )?(\S+)(?: -- (.*))?$/.exec(command) ?? []
  if (script === undefined) return null
  const main = / ([\w/-]+\.ts)\b/.exec(scripts[script] ?? '')?.[1]
  if (scripts[script] === undefined) return `there is no script ${script}`
  for (const [flag = '', name = '', value] of flags.matchAll(/--([\w-]+)(?: (?!--)(\S+))?/g)) {
    const type = new RegExp(`\\b'?${name}'?: \\{ type: '(\\w+)'`).exec(main === undefined ? '' : read(main))?.[1]
    if (type === undefined) return `${script} takes no ${flag}`
    if (type === 'boolean' && value !== undefined) return `${script} takes no value for --${name}`
  }
  return null
}

describe('workflows', () => {
  test.each(workflows)('%s runs only commands that exist', path => {
    expect(commandsOf(path).length).toBeGreaterThan(3)
    const problems = commandsOf(path).flatMap(command => {
      const problem = problemOf(command)
      return problem === null ? [] : [`${command}: ${problem}`]
    })
    expect(problems).toEqual([])
  })

  test('the check finds commands that do not exist', () => {
    const wrong = [
      'npm run --silent nothing',
      'npm run --silent torture -- --nothing',
      'npm run --silent torture -- --fleet 3',
      'npx vitest run test/nothing',
      'node tools/nothing.ts',
      'NOTHING=1 npx vitest run test/adapters/fleet',
    ]
    expect(wrong.filter(command => problemOf(command) === null)).toEqual([])
    expect(problemOf('npm run --silent torture -- --cluster kubo --rounds 3')).toBeNull()
  })

  test('run torture, model, fuzz and mutations each night', () => {
    const commands = commandsOf('.github/workflows/long.yml')
    const wanted = [
      ...['torture -- --rounds', '--fleet', '--cluster --', '--cluster kubo', '--cluster ipfs-cluster', 'fuzz --'],
      ...['silent mutations', 'test/catalogue/catalogue-model', 'test/adapters/postgres/catalogue-model', 'power-cut'],
      ...['test/interop', 'test/adapters/kubo', 'test/adapters/ipfs-cluster'],
    ]
    expect(wanted.filter(text => !commands.some(command => command.includes(text)))).toEqual([])
  })

  test.each(workflows)('%s grants each job only the permissions it names', path => {
    const [head = '', jobs = ''] = read(path).split(/^jobs:$/m)
    expect(head).toMatch(/^permissions: \{\}$/m)
    const each = jobs.split(/^ {2}(?=[\w-]+:$)/m).slice(1)
    expect(each.length).toBeGreaterThan(1)
    expect(each.filter(job => !/^ {4}permissions:\n {6}\w/m.test(job))).toEqual([])
  })

  test.each(workflows)('%s pins actions and cloned suites by commit', path => {
    const text = read(path)
    const actions = [...text.matchAll(/uses: (.+)/g)].map(([, action]) => action)
    expect(actions.length).toBeGreaterThan(3)
    expect(actions.filter(action => !/^[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action ?? ''))).toEqual([])
    const cloned = [...text.matchAll(/git clone \S+ (\S+)/g)].map(([, directory]) => directory ?? '')
    const pinned = [...text.matchAll(/git -C (\S+) checkout [0-9a-f]{40} # v\d/g)].map(([, directory]) => directory)
    expect(pinned).toEqual(cloned)
  })

  test.each(workflows)('%s has the history where upgrades are tested', path => {
    const jobs = read(path).split(/^ {2}(?=[\w-]+:$)/m)
    const tested = jobs.filter(job => job.includes('npm run test:all'))
    expect(tested.filter(job => !job.includes('fetch-depth: 0'))).toEqual([])
  })

  test.each(workflows)('%s installs PostgreSQL', path => {
    expect(read(path)).toMatch(/apt-get install --yes .*\bpostgresql\b/)
  })
})
