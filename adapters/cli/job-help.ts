const SELECTION = `  --all            all pins
  --cid CID        only pins of this content
  --name TEXT      only pins with this text in their name, in any case
  --meta KEY=VALUE only pins with this metadata; may be repeated
  --type A,B       only file, directory or pin
  --status A,B     only queued, pinning, pinned or failed
  --expiring       only pins that expire
  --after TIME     only pins created after this time
  --before TIME    only pins created before this time (default: now)
  --expected COUNT number of pins that the filters select; if it differs, nothing is changed
  --no-wait        return at once; the server continues`

export const jobHelp = (server: string) => ({
  job: `Usage: holdfast job delete|edit|list|undo [flags]

Each has its own --help.`,

  'job delete': `Usage: holdfast job delete [ID...] [flags]

Deletes many pins: up to 1,000 ids of uploads, or all pins that match every given filter. Filters without --expected
only count. For some minutes "holdfast job undo" restores the same pins.

  holdfast job delete --name draft
  holdfast job delete --name draft --expected 123

${SELECTION}
${server}`,

  'job edit': `Usage: holdfast job edit [ID...] [flags]

Renames many pins, sets their expiry, or moves them to another cluster of the same system. The pins are selected as for
"holdfast job delete". An edit cannot be undone.

  holdfast job edit --name draft --find draft --replace final --expected 123
  holdfast job edit --all --timelock 2030-12-31 --expected 123

  --find TEXT      text to replace in each name
  --replace TEXT   text in its place (default: none)
  --prefix TEXT    text to put before each name
  --suffix TEXT    text to put after each name
  --timelock TIME  new expiry, such as 2030-12-31T23:59:59Z, or never
  --cluster ID     new cluster
${SELECTION}
${server}`,

  'job list': `Usage: holdfast job list [flags]

Lists the jobs that run, or that ended within an hour, with their progress.

${server}`,

  'job undo': `Usage: holdfast job undo ID [flags]

Restores the pins that a job deleted, with their ids, names and times. Pins that have expired meanwhile stay deleted.

  --no-wait        return at once; the server continues
${server}`,
})
