/** A program that reads the environment variables `HOLDFAST_API` and `HOLDFAST_API_KEY`. */
export interface KeySnippet {
  language: 'curl' | 'JavaScript' | 'Python'
  text: string
}

// As a literal it would look like an import of this module.
const NODE_FILES = "'node:fs'"

const UPLOAD: readonly KeySnippet[] = [
  {
    language: 'curl',
    text: 'curl --fail-with-body -H "X-API-Key: $HOLDFAST_API_KEY" -F file=@photo.jpg "$HOLDFAST_API/files"\n',
  },
  {
    language: 'JavaScript',
    text: `import { openAsBlob } from ${NODE_FILES}

const { HOLDFAST_API, HOLDFAST_API_KEY } = process.env
const body = new FormData()
body.append('file', await openAsBlob('photo.jpg'), 'photo.jpg')
const headers = { 'x-api-key': HOLDFAST_API_KEY }
const answer = await fetch(\`\${HOLDFAST_API}/files\`, { method: 'POST', headers, body })
if (!answer.ok) throw new Error(await answer.text())
console.log((await answer.json()).cid)
`,
  },
  {
    language: 'Python',
    text: `import os, requests

api, key = os.environ["HOLDFAST_API"], os.environ["HOLDFAST_API_KEY"]
with open("photo.jpg", "rb") as file:
    answer = requests.post(f"{api}/files", headers={"X-API-Key": key}, files={"file": ("photo.jpg", file)})
answer.raise_for_status()
print(answer.json()["cid"])
`,
  },
]

const LIST: readonly KeySnippet[] = [
  {
    language: 'curl',
    text: 'curl --fail-with-body -H "X-API-Key: $HOLDFAST_API_KEY" "$HOLDFAST_API/users/me/uploads?limit=10"\n',
  },
  {
    language: 'JavaScript',
    text: `const { HOLDFAST_API, HOLDFAST_API_KEY } = process.env
const headers = { 'x-api-key': HOLDFAST_API_KEY }
const answer = await fetch(\`\${HOLDFAST_API}/users/me/uploads?limit=10\`, { headers })
if (!answer.ok) throw new Error(await answer.text())
for (const { cid, name } of (await answer.json()).uploads) console.log(cid, name)
`,
  },
  {
    language: 'Python',
    text: `import os, requests

api, key = os.environ["HOLDFAST_API"], os.environ["HOLDFAST_API_KEY"]
answer = requests.get(f"{api}/users/me/uploads", headers={"X-API-Key": key}, params={"limit": 10})
answer.raise_for_status()
for upload in answer.json()["uploads"]:
    print(upload["cid"], upload["name"])
`,
  },
]

/** Returns programs for the scopes of a key: an upload of `photo.jpg`, or else a list. Empty if it may do neither. */
export function snippetsFor(scopes: readonly string[]): readonly KeySnippet[] {
  if (scopes.includes('files:write')) return UPLOAD
  return scopes.includes('files:read') ? LIST : []
}

/** Returns the commands of a shell that set the environment of a program. */
export function environmentOf(api: string): string {
  return `export HOLDFAST_API='${api.replaceAll("'", '%27')}'\nexport HOLDFAST_API_KEY='<the key>'\n`
}
