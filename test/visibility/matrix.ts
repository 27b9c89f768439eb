import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { CID } from 'multiformats/cid'
import * as Digest from 'multiformats/hashes/digest'
import type { Surface } from './surfaces.ts'

/** Text in every private file. No answer to a stranger may have it. */
export const CANARY = 'the canary of private content'

/** Characters of an answer that a difference shows. */
const SHOWN = 300

/** A port of a node. Both kinds of surfaces are asked on each port that has their kind. */
export interface Port {
  name: string
  kind: Surface['port']
  port: number
}

/** A reader, by the headers of its requests. */
export interface Asker {
  name: string
  headers: Record<string, string>
}

interface Answer {
  status: number
  headers: string[]
  body: string
}

/** Headers that say when an answer was given, or which thread gave it. */
const OF_THE_MOMENT = /^(date|x-thread|x-request-id)$/

/** Returns a CID of the same form that nobody has. */
export function absentLike(cid: string): string {
  const { code, multihash, version } = CID.parse(cid)
  const digest = multihash.digest.map(byte => byte ^ 0xa5)
  return CID.create(version, code, Digest.create(multihash.code, digest)).toString()
}

export async function ask({ port }: Port, surface: Surface, cid: string, asker: Asker): Promise<Answer> {
  const { method = 'GET', path, headers = () => ({}) } = surface
  const all = { ...headers(cid), ...asker.headers }
  const outgoing = http.request({ host: '127.0.0.1', port, method, path: path(cid), headers: all, agent: false })
  outgoing.end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const body = Buffer.concat(await incoming.toArray()).toString('latin1')
  const shown: string[] = []
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i]?.toLowerCase() ?? ''
    if (!OF_THE_MOMENT.test(name)) shown.push(`${name}: ${incoming.rawHeaders[i + 1]}`)
  }
  return { status: incoming.statusCode ?? 0, headers: shown, body }
}

/** Asks every surface for private content and for absent content. Returns each difference, and each leak. */
export async function differences(
  ports: readonly Port[],
  surfaces: readonly Surface[],
  contents: Readonly<Record<string, string>>,
  askers: readonly Asker[],
): Promise<string[]> {
  const found: string[] = []
  const compare = async (port: Port, surface: Surface, asker: Asker, content: string, cid: string): Promise<void> => {
    const absent = absentLike(cid)
    const [given, expected] = await Promise.all([
      ask(port, surface, cid, asker).then(answer => textOf(answer, cid)),
      ask(port, surface, absent, asker).then(answer => textOf(answer, absent)),
    ])
    const where = `${surface.name} on ${port.name}, ${content}, asked by ${asker.name}`
    // A report of megabytes would take longer than the test.
    if (given !== expected) found.push(`${where}: ${given.slice(0, SHOWN)} instead of ${expected.slice(0, SHOWN)}`)
    if (given.includes(CANARY)) found.push(`${where}: the content itself`)
  }
  for (const asker of askers) {
    for (const surface of surfaces) {
      const asked = ports.filter(({ kind }) => kind === surface.port)
      const all = Object.entries(contents)
      await Promise.all(asked.flatMap(port => all.map(([name, cid]) => compare(port, surface, asker, name, cid))))
    }
  }
  return found
}

function textOf(answer: Answer, cid: string): string {
  return JSON.stringify(answer).replaceAll(cid, '<cid>')
}
