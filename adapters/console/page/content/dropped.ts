import type { DirectoryFile } from '../../../client/index.ts'
import type { Source } from './upload-queue.ts'

export interface Dropped {
  sources: Source[]
  /** Names of folders without files. Such folders cannot be uploaded. */
  empty: string[]
}

export async function readDropped(transfer: DataTransfer): Promise<Dropped> {
  // Gets all entries at once, because the browser empties the list after the event.
  const entries = [...transfer.items].flatMap(item => (item.kind === 'file' ? (item.webkitGetAsEntry() ?? []) : []))
  const dropped: Dropped = { sources: [], empty: [] }
  for (const entry of entries) {
    if (isFile(entry)) dropped.sources.push(fileSource(await fileOf(entry)))
    else if (isDirectory(entry)) addFolder(dropped, entry.name, await filesBelow(entry, ''))
  }
  return dropped
}

export function readChosen(files: Iterable<File>): Dropped {
  return { sources: [...files].map(fileSource), empty: [] }
}

/** Reads the files of a folder. Each path begins with the folder's name. */
export function readChosenFolder(files: Iterable<File>): Dropped {
  const all = [...files]
  const name = all[0]?.webkitRelativePath.split('/')[0] ?? ''
  const dropped: Dropped = { sources: [], empty: [] }
  addFolder(
    dropped,
    name,
    all.map(file => ({ path: file.webkitRelativePath.slice(name.length + 1), content: file })),
  )
  return dropped
}

function fileSource(file: File): Source {
  return { name: file.name, size: file.size, content: { file } }
}

function addFolder(dropped: Dropped, name: string, files: ReadonlyArray<DirectoryFile & { content: File }>): void {
  if (files.length === 0) dropped.empty.push(name)
  else
    dropped.sources.push({ name, size: files.reduce((sum, { content }) => sum + content.size, 0), content: { files } })
}

async function filesBelow(
  directory: FileSystemDirectoryEntry,
  path: string,
): Promise<Array<DirectoryFile & { content: File }>> {
  const files: Array<DirectoryFile & { content: File }> = []
  const reader = directory.createReader()
  // Each call returns up to a hundred entries. An empty list marks the end.
  for (let some = await entriesOf(reader); some.length > 0; some = await entriesOf(reader)) {
    for (const entry of some) {
      const inside = `${path}${entry.name}`
      if (isFile(entry)) files.push({ path: inside, content: await fileOf(entry) })
      else if (isDirectory(entry)) files.push(...(await filesBelow(entry, `${inside}/`)))
    }
  }
  return files
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject))
}

function entriesOf(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject))
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}
