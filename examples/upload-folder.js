// Uploads a folder to a Holdfast server as one directory, with a progress bar:
//
//   HOLDFAST_API_KEY=… node upload-folder.js FOLDER [http://127.0.0.1:4100/api/v3]
//
// Needs nothing but Node: the form is written while it is sent, so that memory stays flat however large the folder is.

import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, resolve, sep } from 'node:path'

const [folder, api = 'http://127.0.0.1:4100/api/v3'] = process.argv.slice(2)
const key = process.env.HOLDFAST_API_KEY
if (folder === undefined || key === undefined) {
  console.error('usage: HOLDFAST_API_KEY=… node upload-folder.js FOLDER [API]')
  process.exit(2)
}

const files = await filesBelow(resolve(folder))
const total = files.reduce((sum, { size }) => sum + size, 0)
console.error(`${files.length} files, ${megabytes(total)}`)

const boundary = `folder-${randomUUID()}`
const response = await fetch(`${api}/files/directory-dag`, {
  method: 'POST',
  headers: { authorization: `Bearer ${key}`, 'content-type': `multipart/form-data; boundary=${boundary}` },
  body: form(),
  duplex: 'half',
}).catch(error => fail(`${api}: ${error.cause?.message ?? error.message}`))
const answer = await response.json()
if (!response.ok) fail(`${answer.code}: ${answer.message}`)
console.log(answer.cid)

/** Regular files with their paths below the folder. Links and devices are left out, and said to be. */
async function filesBelow(root) {
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const found = []
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name)
    if (entry.isFile())
      found.push({ file, path: relative(root, file).replaceAll(sep, '/'), size: (await stat(file)).size })
    else if (!entry.isDirectory()) console.error(`left out, no regular file: ${file}`)
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** The form, piece by piece: the name of the folder, then each file with its path for a name. */
async function* form() {
  yield Buffer.from(`${head('name="dirName"')}${basename(resolve(folder))}\r\n`)
  let sent = 0
  for (const { file, path } of files) {
    const filename = path.replace(/["\r\n]/g, encodeURIComponent)
    yield Buffer.from(head(`name="files"; filename="${filename}"`))
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      yield chunk
      sent += chunk.length
      if (sent < total) progress(sent)
    }
    yield Buffer.from('\r\n')
  }
  yield Buffer.from(`--${boundary}--\r\n`)
  progress(total)
}

function head(disposition) {
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n`
}

/** One line that is drawn over and over on a terminal; elsewhere nothing until the end. */
function progress(sent) {
  if (!process.stderr.isTTY && sent < total) return
  const share = sent === total ? 1 : sent / total
  const filled = Math.round(share * 30)
  const bar = '█'.repeat(filled) + '░'.repeat(30 - filled)
  process.stderr.write(`\r${bar} ${Math.floor(share * 100)} %  ${megabytes(sent)}${sent === total ? '\n' : ''}`)
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function fail(message) {
  console.error(`\n${message}`)
  process.exit(1)
}
