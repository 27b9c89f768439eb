import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { givenCid } from './content-words.ts'
import { metaFlag } from './meta-flag.ts'
import { print, printJson, terminalColumns } from './output.ts'
import { visibilityOf } from './private-content.ts'
import { uploadLines } from './upload-rows.ts'

/** Runs `ls`. With a CID, lists the files of that directory, and fails if no pin has the CID. */
export const list = apiCommand<GivenTo<'ls'>>(async ({ client, flags, words: [word], json }) => {
  const directory = word === undefined ? undefined : givenCid(word)
  const expiring = flags.expiring
  const visibility = await visibilityOf(client, flags.only)
  const wanted = {
    parentCid: directory,
    cid: flags.cid,
    expiring,
    q: flags.name,
    meta: metaFlag(flags.meta),
    visibility,
  }
  const columns = terminalColumns()
  let isFirst = true
  for await (const rows of client.pins.pages(wanted)) {
    if (json) for (const row of rows) printJson(row)
    else print(uploadLines(rows, { areFiles: directory !== undefined, withHeader: isFirst, columns }).join('\n'))
    isFirst = false
  }
  // The list of a directory that no pin has is empty as well. The status fails for it.
  if (isFirst && directory !== undefined) await client.pins.status(directory)
})
