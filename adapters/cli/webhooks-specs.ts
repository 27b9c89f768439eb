import { API_FLAGS, type CommandSpec } from './command-spec.ts'

const ONE_ID = { usage: 'ID', what: 'the id of a webhook', min: 1, max: 1 } as const

export const WEBHOOK_COMMANDS = {
  'webhook add': {
    about: 'Send pin events to a URL',
    text: `Sends a POST to a URL for each pin of the account that is created, changes its status or is removed. Prints the secret
that signs the deliveries, only this once. Revoking a key removes the webhooks that it created.`,
    examples: ['holdfast webhook add https://example.org/events'],
    words: { usage: 'URL', what: 'a URL', min: 1, max: 1 },
    flags: API_FLAGS,
  },
  'webhook list': {
    about: 'List your webhooks',
    text: 'Lists the webhooks with their waiting deliveries. DROPPED counts events dropped because too many waited.',
    flags: API_FLAGS,
  },
  'webhook log': {
    about: 'Show the deliveries of a webhook',
    text: 'Lists the newest deliveries of a webhook, with their results.',
    words: ONE_ID,
    flags: API_FLAGS,
  },
  'webhook remove': {
    about: 'Remove a webhook',
    text: 'Removes a webhook.',
    words: ONE_ID,
    flags: API_FLAGS,
  },
} as const satisfies Record<string, CommandSpec>
