import type { HelpTopic } from './help.ts'
import type { Environment } from './settings.ts'

/** Runs a command. Resolves to false if `--help` was given; the caller then prints the help. */
export type Command = (args: readonly string[], env: Environment) => Promise<boolean>

/** Modules load on demand, so that help and client commands start without the engine. */
export const COMMANDS: ReadonlyMap<HelpTopic, () => Promise<Command>> = new Map<HelpTopic, () => Promise<Command>>([
  ['upload', async () => (await import('./upload-command.ts')).upload],
  ['import', async () => (await import('./import-command.ts')).importCar],
  ['export', async () => (await import('./export-command.ts')).exportPins],
  ['get', async () => (await import('./get-command.ts')).get],
  ['cat', async () => (await import('./get-command.ts')).cat],
  ['ls', async () => (await import('./list-command.ts')).list],
  ['pin', async () => (await import('./pin-command.ts')).pin],
  ['status', async () => (await import('./status-command.ts')).status],
  ['rm', async () => (await import('./status-command.ts')).remove],
  ['login', async () => (await import('./login-commands.ts')).login],
  ['whoami', async () => (await import('./login-commands.ts')).whoami],
  ['logout', async () => (await import('./login-commands.ts')).logout],
  ['completion', async () => (await import('./completion-command.ts')).completion],
  ['webhook add', async () => (await import('./webhook-commands.ts')).addWebhook],
  ['webhook list', async () => (await import('./webhook-commands.ts')).listWebhooks],
  ['webhook log', async () => (await import('./webhook-commands.ts')).webhookLog],
  ['webhook remove', async () => (await import('./webhook-commands.ts')).removeWebhook],
  ['serve', async () => (await import('./serve.ts')).serve],
  ['stats', async () => (await import('./owner-commands.ts')).stats],
  ['gc', async () => (await import('./owner-commands.ts')).collect],
  ['verify', async () => (await import('./owner-commands.ts')).verify],
  ['reconcile', async () => (await import('./backup-commands.ts')).reconcile],
  ['backup', async () => (await import('./backup-commands.ts')).runBackup],
  ['backup check', async () => (await import('./backup-commands.ts')).checkBackupCommand],
  ['compact', async () => (await import('./backup-commands.ts')).compact],
  ['restore', async () => (await import('./backup-commands.ts')).restore],
  ['catalogue move', async () => (await import('./catalogue-command.ts')).moveToDatabase],
  ['data-key replace', async () => (await import('./data-key-command.ts')).replaceKey],
  ['accounts', async () => (await import('./owner-commands.ts')).accounts],
  ['takedown add', async () => (await import('./takedown-commands.ts')).addTakedown],
  ['takedown list', async () => (await import('./takedown-commands.ts')).listTakedowns],
  ['takedown remove', async () => (await import('./takedown-commands.ts')).removeTakedown],
  ['account create', async () => (await import('./account-commands.ts')).createAccount],
  ['account list', async () => (await import('./account-commands.ts')).listAccounts],
  ['account set-plan', async () => (await import('./account-commands.ts')).setAccountPlan],
  ['account set-password', async () => (await import('./account-commands.ts')).setAccountPassword],
  ['account disable-2fa', async () => (await import('./account-commands.ts')).disableSecondFactor],
  ['account disable', async () => (await import('./account-commands.ts')).disableAccount],
  ['account enable', async () => (await import('./account-commands.ts')).enableAccount],
  ['account delete', async () => (await import('./account-commands.ts')).deleteAccount],
  ['account sessions', async () => (await import('./account-commands.ts')).listSessions],
  ['account end-sessions', async () => (await import('./account-commands.ts')).endSessions],
  ['key create', async () => (await import('./key-commands.ts')).createKey],
  ['key list', async () => (await import('./key-commands.ts')).listKeys],
  ['key revoke', async () => (await import('./key-commands.ts')).revokeKey],
])

/** Other names of commands, which people know from other programs. */
export const ALIASES: Readonly<Record<string, HelpTopic>> = {
  add: 'upload',
  put: 'upload',
  list: 'ls',
  delete: 'rm',
  remove: 'rm',
}
