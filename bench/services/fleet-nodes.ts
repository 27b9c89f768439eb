import { randomBytes } from 'node:crypto'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fixedPort } from '../../test/support/fixed-port.ts'
import { ChildServer } from '../child-server.ts'
import { builtServer } from './built-server.ts'
import { cidOf } from './holdfast.ts'
import { type Call, call } from './service.ts'

const PAGE = 20

const cluster = { label: '', region: '', country: null, gateways: [] }

/** A running node, or another server that takes the same uploads. */
export interface Node {
  server: ChildServer
  headers: Readonly<Record<string, string>>
  /** A CID that it has. */
  cid: string
  /** Headers of accounts of its own, besides the owner. */
  others: Array<Readonly<Record<string, string>>>
}

/** How nodes start. A start with the same directory and key goes on with their content. */
interface Start {
  /** Copies of the content of each cluster. */
  copies?: number
  key?: string
  config?: object
}

/** @param database null for a catalogue in SQLite */
export async function startNodes(
  dir: string,
  database: string | null,
  ids: readonly string[],
  { copies = 1, key = randomBytes(32).toString('hex'), config: more = {} }: Start = {},
): Promise<Node[]> {
  const nodes: Node[] = []
  for (const id of ids) {
    const port = await fixedPort(1)
    const dataDir = join(dir, id)
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const [first] = ids
    if (first !== undefined && id !== first) await copyFile(join(dir, first, 'data.key'), join(dataDir, 'data.key'))
    const placed = (node: string) => {
      if (ids.length === 1) return {}
      return copies === 1 ? { node } : { nodes: [node, ...ids.filter(other => other !== node)], copies }
    }
    const clusters = ids.map(node => ({ ...cluster, id: `of-${node}`, ...placed(node) }))
    const own = { node: { id, url: `http://127.0.0.1:${port}`, ...(copies === 1 ? {} : { expected: ids }) } }
    const shared = database === null ? {} : { database, ...(ids.length === 1 ? {} : own) }
    const config = join(dir, `${id}.json`)
    await writeFile(
      config,
      JSON.stringify({ network: { enabled: false }, clusters, defaultCluster: 'of-a', ...shared, ...more }),
    )
    const env = { PATH: process.env.PATH, HOLDFAST_BOOTSTRAP_KEY: key, HOLDFAST_LOG_LEVEL: 'error' }
    const args = ['serve', '--port', String(port), '--data-dir', dataDir, '--config', config]
    const server = await ChildServer.start(await builtServer(), args, env)
    const headers = { authorization: `Bearer ${key}`, 'x-cluster': `of-${id}` }
    nodes.push({ server, headers, cid: '', others: [] })
  }
  return nodes
}

export function uploadOf({ server }: Node, headers: Call['headers']): Call {
  return { method: 'POST', url: `${server.url}/api/v3/files`, headers }
}

export function listOf({ server, headers }: Node): Call {
  return { method: 'GET', url: `${server.url}/api/v3/users/me/uploads?limit=${PAGE}`, headers }
}

export function lookUpOf({ server, headers, cid }: Node): Call {
  return { method: 'GET', url: `${server.url}/api/v3/status/${cid}`, headers }
}

/** Creates accounts, and stores the first files of the owner. */
export async function prepareNode(node: Node, size: { files: number; fileBytes: number; accounts: number }) {
  const { server, headers } = node
  for (let i = 0; i < size.files; i++) {
    const form = new FormData()
    form.append('file', new Blob([randomBytes(size.fileBytes)]), 'file')
    const response = await fetch(uploadOf(node, headers).url, { method: 'POST', headers, body: form })
    if (response.status !== 201) throw new Error(`an upload was answered ${response.status}`)
    node.cid = cidOf(await response.json())
  }
  for (let i = 0; i < size.accounts; i++) {
    const url = `${server.url}/admin/v1/accounts`
    const account = { email: `${randomBytes(8).toString('hex')}@example.org`, plan: 'unlimited' }
    const made = { method: 'POST', url, headers: { ...headers, 'content-type': 'application/json' } }
    const { token } = JSON.parse(await call(made, Buffer.from(JSON.stringify(account)))) as { token: string }
    node.others.push({ ...headers, authorization: `Bearer ${token}` })
  }
}
