import { randomBytes } from 'node:crypto'

/** A CAR as the only file of a form. */
export function carForm(car: AsyncIterable<Uint8Array>): { type: string; body: AsyncIterable<Uint8Array> } {
  // Whoever chose the content must not know it.
  const boundary = randomBytes(16).toString('hex')
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="dag.car"\r\nContent-Type: application/octet-stream\r\n\r\n`
  const body = async function* (): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(head)
    yield* car
    yield Buffer.from(`\r\n--${boundary}--\r\n`)
  }
  return { type: `multipart/form-data; boundary=${boundary}`, body: body() }
}
