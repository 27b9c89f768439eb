import { describe, expect, test, vi } from 'vitest'
import { COMMAND_TABLE } from '../../../adapters/cli/all-commands.ts'
import { readArguments } from '../../../adapters/cli/arguments.ts'
import { runCommandLine } from '../../../adapters/cli/command-line.ts'

const CID = 'bafkreifljrjcnysaahmfdv755prppgtnjbtfor7oukwigl6c3y4q4vmvcm'

async function run(args: readonly string[]): Promise<{ code: number; told: string }> {
  const said = vi.spyOn(console, 'error').mockReturnValue(undefined)
  try {
    const code = await runCommandLine(args, { HOLDFAST_API: 'http://127.0.0.1:1/api/v3', HOLDFAST_API_KEY: 'key' })
    return { code, told: said.mock.calls.flat().join('\n') }
  } finally {
    said.mockRestore()
  }
}

// A shell passes one for the variable of `--host "$ADDRESS"` that is not set.
describe('an empty value', () => {
  test.each([
    [['serve', '--check-config', '--host', ''], '--host needs a value, see holdfast serve --help'],
    [['serve', '--check-config', '--data-dir='], '--data-dir needs a value, see holdfast serve --help'],
    [['gc', '--data-dir', ' '], '--data-dir needs a value, see holdfast gc --help'],
    [['upload', 'package.json', '--timelock', ''], '--timelock needs a value, see holdfast upload --help'],
    [['rm', CID, '--cluster', ''], '--cluster needs a value, see holdfast rm --help'],
    [
      ['key', 'create', '--account', 'ada@example.org', '--ip-allowlist', ''],
      '--ip-allowlist needs a value, see holdfast key create --help',
    ],
    [['node', 'lost', '--account', ''], '--account needs a value, see holdfast node lost --help'],
  ])('is refused for the flag of %j', async (args, message) => {
    expect(await run(args)).toEqual({ code: 2, told: `holdfast: ${message}` })
  })

  test.each([[['upload', '']], [['upload', 'package.json', '']], [['export', '']], [['backup', '']]])(
    'is refused as an argument of %j',
    async args => {
      const message = `an argument is empty (is a variable not set?), see holdfast ${args[0]} --help`
      expect(await run(args)).toEqual({ code: 2, told: `holdfast: ${message}` })
    },
  )

  test('is allowed where it means none', () => {
    const allowed = Object.entries(COMMAND_TABLE).flatMap(([command, { flags }]) =>
      Object.entries(flags).flatMap(([flag, { mayBeEmpty }]) => (mayBeEmpty ? [`${command} --${flag}`] : [])),
    )
    expect(allowed).toEqual([
      'upload --name',
      'import --name',
      'pin --name',
      // feature: bulk
      'job edit --find',
      'job edit --replace',
      'job edit --prefix',
      'job edit --suffix',
      // end
      'account create --name',
      'key create --label',
    ])
    const given = readArguments(['file', '--name', ''], COMMAND_TABLE.upload)
    expect(given.flags).toMatchObject({ name: '' })
    // feature: bulk
    const edit = readArguments(['--find', 'draft ', '--replace', ''], COMMAND_TABLE['job edit'])
    expect(edit.flags).toMatchObject({ find: 'draft ', replace: '' })
    // end
  })
})
