import { connect, textOf, withApi } from './api-command.ts'
import { apiBase, checkedKey, keySource } from './api-settings.ts'
import { readArguments } from './arguments.ts'
import { print, printJson } from './output.ts'
import { readPassword } from './password-input.ts'
import { formatTable } from './printed-text.ts'
import { forgetLogin, loginFile, saveLogin } from './saved-login.ts'
import type { Environment } from './settings.ts'

/** Saves a key of standard input once the server accepts it. Other users could see a key among the arguments. */
export async function login(args: readonly string[], env: Environment): Promise<boolean> {
  const given = readArguments(args, { values: ['api'] })
  if (given === null) return false
  const base = apiBase(given.flags, env)
  const key = checkedKey(await readPassword('API key: '))
  const { email } = await connect({ base, key }).account.show()
  await saveLogin(env, { api: base, key })
  print(`logged in to ${base} as ${email}`)
  return true
}

export function whoami(args: readonly string[], env: Environment): Promise<boolean> {
  return withApi(args, env, { values: [] }, async ({ client, flags, settings, json }) => {
    const account = await client.account.show()
    const key = keySource(flags, env) ?? loginFile(env)
    if (json) return printJson({ ...account, api: settings.base, key })
    const lines = [
      ['server', settings.base],
      ['account', textOf(account, 'email')],
      ['plan', textOf(account, 'plan')],
      ['key', `from ${key}`],
    ]
    print(formatTable(lines))
  })
}

export async function logout(args: readonly string[], env: Environment): Promise<boolean> {
  if (readArguments(args, { values: [] }) === null) return false
  await forgetLogin(env)
  print('logged out; the key itself stays valid until you revoke it')
  return true
}
