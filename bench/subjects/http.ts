import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { ChildServer } from '../child-server.ts'
import type { FileContent, TreeContent } from '../content.ts'
import type { RunningSubject, Subject, Work } from '../contest.ts'
import { HttpClient } from '../http-client.ts'
import { type FormPart, MultipartForm } from '../multipart-form.ts'

const SCRIPT = fileURLToPath(new URL('../../adapters/cli/main.ts', import.meta.url))

/** The standalone server in a process of its own, this one being its client. */
export const httpUpload: Subject<FileContent> = {
  name: 'http',
  start: dir =>
    startServer(dir, '/api/v3/files', content => [{ name: 'file', filename: 'bench.bin', content: content.bytes }]),
}

export const httpDag: Subject<TreeContent> = {
  name: 'http',
  start: dir =>
    startServer(dir, '/api/v3/files/directory-dag', tree =>
      tree.files.map(({ path, bytes }) => ({ name: 'files[]', filename: path, content: bytes })),
    ),
}

async function startServer<W extends Work>(
  dir: string,
  path: string,
  partsOf: (work: W) => FormPart[],
): Promise<RunningSubject<W>> {
  const { server, headers } = await startStandalone(dir)
  const client = new HttpClient(server.url, headers)
  return {
    async run(work) {
      const answer: unknown = JSON.parse(await client.postForm(path, new MultipartForm(partsOf(work))))
      return cidOf(answer)
    },
    async stop() {
      client.close()
      await server.stop()
    },
  }
}

/** Starts the standalone server; `headers` carry its first key. */
export async function startStandalone(dir: string): Promise<{ server: ChildServer; headers: Record<string, string> }> {
  const key = randomBytes(32).toString('hex')
  const server = await ChildServer.start(SCRIPT, ['serve', '--port', '0', '--data-dir', dir], {
    ...withoutSettings(process.env),
    HOLDFAST_BOOTSTRAP_KEY: key,
  })
  return { server, headers: { authorization: `Bearer ${key}` } }
}

/** A setting of whoever runs the bench must not change what is measured. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('HOLDFAST_')))
}

/** The CID in the answer to an upload. */
export function cidOf(answer: unknown): string {
  if (typeof answer === 'object' && answer !== null && 'cid' in answer && typeof answer.cid === 'string') {
    return answer.cid
  }
  throw new Error(`an upload was answered without a CID: ${JSON.stringify(answer).slice(0, 300)}`)
}
