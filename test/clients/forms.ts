/** A part of a form, before a client encodes it. */
export interface FormPart {
  name: string
  content: string | Buffer
  /** A part with a file name is a file. */
  filename?: string
  type?: string
}

export interface WrittenForm {
  contentType: string
  body: Buffer
}

type PartHead = (part: FormPart) => string[]

function writer(boundary: string, head: PartHead): (parts: readonly FormPart[]) => WrittenForm {
  return parts => ({
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat([
      ...parts.flatMap(part => [
        Buffer.from(`--${boundary}\r\n${head(part).join('\r\n')}\r\n\r\n`),
        Buffer.from(part.content),
        Buffer.from('\r\n'),
      ]),
      Buffer.from(`--${boundary}--\r\n`),
    ]),
  })
}

/** Encodes a name as browsers do: raw UTF-8, with only quotes escaped. */
function html5(text: string): string {
  return text.replaceAll('"', '%22')
}

function disposition({ name, filename }: FormPart, encode: (text: string) => string): string {
  const file = filename === undefined ? '' : `; filename="${encode(filename)}"`
  return `Content-Disposition: form-data; name="${encode(name)}"${file}`
}

/** urllib3: sends a type only if one is given. */
export const urllib3Form = writer('0d5a1fb4c2e84a3c9d1e6f7a8b9c0d1e', part => [
  disposition(part, html5),
  ...(part.type === undefined ? [] : [`Content-Type: ${part.type}`]),
])

/** Guzzle: sends the length of every part, and only the last segment of a file name. */
export const guzzleForm = writer('2c6bb0a7d1f94f0f8a3e5b9c7d1e2f3a4b5c6d7e', part => {
  const { filename, ...field } = part
  const base = filename?.slice(filename.lastIndexOf('/') + 1)
  return [
    disposition(base === undefined ? field : { ...field, filename: base }, html5),
    `Content-Length: ${Buffer.byteLength(part.content)}`,
    ...(base === undefined ? [] : [`Content-Type: ${part.type ?? 'text/plain'}`]),
  ]
})

/** Go's mime/multipart: escapes quotes and backslashes with a backslash, and sends files as octet streams. */
export const goForm = writer('5f0b7f9c0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90', part => [
  disposition(part, text => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')),
  ...(part.filename === undefined ? [] : ['Content-Type: application/octet-stream']),
])

/** Go code with CreateFormField: sends a file's content as a plain field. */
export const goFieldForm = writer('5f0b7f9c0d1e2f3a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f91', ({ name }) => [
  `Content-Disposition: form-data; name="${name}"`,
])

/** curl -F: sends files as octet streams by default. */
export const curlForm = writer('------------------------8d3f1c2b4a596877', part => [
  disposition(part, html5),
  ...(part.filename === undefined ? [] : [`Content-Type: ${part.type ?? 'application/octet-stream'}`]),
])
