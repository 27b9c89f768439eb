export const webhookHelp = (server: string) => ({
  'webhook add': `Usage: holdfast webhook add URL [flags]

Sends a POST to a URL for each pin of the account that is created, changes its status or is removed. Prints the secret
that signs the deliveries, only this once. Revoking a key removes the webhooks that it created.

  holdfast webhook add https://example.org/events

${server}`,

  'webhook list': `Usage: holdfast webhook list [flags]

Lists the webhooks with their waiting deliveries. DROPPED counts events dropped because too many waited.

${server}`,

  'webhook log': `Usage: holdfast webhook log ID [flags]

Lists the newest deliveries of a webhook, with their results.

${server}`,

  'webhook remove': `Usage: holdfast webhook remove ID [flags]

Removes a webhook.

${server}`,
})
