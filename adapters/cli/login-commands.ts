import type { GivenTo } from './all-commands.ts'
import { apiCommand, connect, textOf } from './api-command.ts'
import { apiBase, checkedKey, keySource } from './api-settings.ts'
import { print, printJson } from './output.ts'
import { readPassword } from './password-input.ts'
import { formatTable } from './printed-text.ts'
import { forgetLogin, loginFile, saveLogin } from './saved-login.ts'
import type { Environment } from './settings.ts'

/** Saves a key of standard input once the server accepts it. Other users could see a key among the arguments. */
export async function login(given: GivenTo<'login'>, env: Environment): Promise<void> {
  const base = apiBase(given.flags, env)
  const key = checkedKey(await readPassword('API key: '))
  const { email } = await connect({ base, key }).account.show()
  await saveLogin(env, { api: base, key })
  print(`logged in to ${base} as ${email}`)
}

export const whoami = apiCommand<GivenTo<'whoami'>>(async ({ client, flags, settings, json }, env) => {
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

export async function logout(_given: GivenTo<'logout'>, env: Environment): Promise<void> {
  await forgetLogin(env)
  print('logged out; the key itself stays valid until you revoke it')
}
