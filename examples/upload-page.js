// A page that uploads from the browser straight to a Holdfast server, by upload tokens:
//
//   HOLDFAST_API_KEY=hf_... node upload-page.js http://127.0.0.1:4100/api/v3
//
// The key stays here. Each visit gets a token that is good for three uploads of 10 MB within ten minutes, and for nothing
// else: whoever copies it can do no more. Before you give pages like this to strangers, let them sign in or solve
// something first, since each visit makes a token.

import { createServer } from 'node:http'

const { HOLDFAST_API_KEY: key, PORT = '3000' } = process.env
const [base] = process.argv.slice(2)
if (!base || !key) {
  console.error('usage: HOLDFAST_API_KEY=hf_... node upload-page.js http://127.0.0.1:4100/api/v3')
  process.exit(2)
}

const server = createServer(async (request, response) => {
  if (request.url !== '/') return response.writeHead(404).end('not found')
  const answer = await fetch(`${base}/tokens/generate`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ label: 'upload page', maxUses: 3, maxBytes: 10_000_000, expiresInSeconds: 600 }),
  })
  const body = await answer.json()
  if (!answer.ok) return response.writeHead(502).end(`no token: ${body.message}`)
  // A page with a token in it must not be kept by anybody.
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
  response.end(page(body.token))
})

server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))

process.once('SIGINT', () => server.close())
process.once('SIGTERM', () => server.close())

function page(token) {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Upload</title>
<h1>Upload a file</h1>
<p>Everything uploaded is public: anyone with its CID can read it.</p>
<form><input type="file" required> <button>Upload</button></form>
<output></output>
<script type="module">
const base = ${JSON.stringify(base)}
const token = ${JSON.stringify(token)}
const output = document.querySelector('output')
document.querySelector('form').addEventListener('submit', async event => {
  event.preventDefault()
  const form = new FormData()
  form.append('file', document.querySelector('input').files[0])
  const answer = await fetch(base + '/files', { method: 'POST', headers: { 'x-api-key': token }, body: form })
  const { cid, message } = await answer.json()
  output.textContent = answer.ok ? 'Stored as ' + cid : 'Refused: ' + message
})
</script>
</html>
`
}
