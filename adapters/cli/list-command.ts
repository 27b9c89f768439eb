import type { GivenTo } from './all-commands.ts'
import { apiCommand } from './api-command.ts'
import { givenCid } from './content-words.ts'
import { metaFlag } from './meta-flag.ts'
import { printRows, terminalColumns } from './output.ts'
import { visibilityOf } from './private-content.ts'
import { uploadLines } from './upload-rows.ts'

/** Runs `ls`. With a CID, lists the files of that directory, and fails if no pin has the CID. */
export const list = apiCommand<GivenTo<'ls'>>(async ({ client, flags, words: [word], json }) => {
  const directory = word === undefined ? undefined : givenCid(word)
  const { cid, expiring, name: q } = flags
  const visibility = await visibilityOf(client, flags.only)
  const wanted = { parentCid: directory, cid, expiring, q, meta: metaFlag(flags.meta), visibility }
  const columns = terminalColumns()
  let isFirst = true
  for await (const rows of client.pins.pages(wanted)) {
    const options = { areFiles: directory !== undefined, withHeader: isFirst, columns }
    printRows(rows, json, () => uploadLines(rows, options).join('\n'))
    isFirst = false
  }
  // The list of a directory that no pin has is empty as well. The status fails for it.
  if (isFirst && directory !== undefined) await client.pins.status(directory)
})
