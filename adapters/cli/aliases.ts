import type { HelpTopic } from './help.ts'

/** Other names of commands, which people know from other programs. */
export const ALIASES: Readonly<Record<string, HelpTopic>> = {
  add: 'upload',
  put: 'upload',
  list: 'ls',
  delete: 'rm',
  remove: 'rm',
}
