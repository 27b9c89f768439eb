/** What `--help` prints for the commands of webhooks. */
export const webhookHelp = (server: string) => ({
  'webhook add': `Usage: holdfast webhook add URL [flags]

Has an address told, by a POST, of each upload or pin of the account that is made, changes its status or is removed. It
prints the secret that every delivery is signed with, this once. What a key has made goes with the key.

  holdfast webhook add https://example.org/told

${server}`,

  'webhook list': `Usage: holdfast webhook list [flags]

Lists who is told, and how much waits to be told. DROPPED counts what was not told because too much waited.

${server}`,

  'webhook log': `Usage: holdfast webhook log ID [flags]

Lists the newest deliveries of a webhook, with what came of them.

${server}`,

  'webhook remove': `Usage: holdfast webhook remove ID [flags]

Tells an address nothing any more.

${server}`,
})
