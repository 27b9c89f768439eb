import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ChildServer } from '../child-server.ts'
import { findProgram } from '../programs.ts'
import { startKubo } from './kubo.ts'
import type { Service, ServiceKind } from './service.ts'

/** Returns an IPFS Cluster of one peer on a default Kubo, if both are installed. */
export function clusterKinds(): ServiceKind[] {
  const program = findProgram('cluster')
  const kubo = findProgram('kubo')
  return program === null || kubo === null ? [] : [{ name: 'cluster', start: dir => startCluster(program, kubo, dir) }]
}

/** Settings to change: all addresses are on loopback, with ports chosen by the system. */
interface Config {
  cluster: { listen_multiaddress: string[]; mdns_interval: string }
  api: { restapi: { http_listen_multiaddress: string } }
  ipfs_connector: { ipfshttp: { node_multiaddress: string } }
}

async function startCluster(program: string, kuboProgram: string, dir: string): Promise<Service> {
  const kuboDir = join(dir, 'kubo')
  await mkdir(kuboDir)
  const kubo = await startKubo(kuboProgram, kuboDir, {})
  try {
    const env = { ...process.env, IPFS_CLUSTER_PATH: join(dir, 'cluster') }
    // The program chooses free ports itself.
    await promisify(execFile)(program, ['init', '--randomports'], { env })
    const file = join(env.IPFS_CLUSTER_PATH, 'service.json')
    const config = JSON.parse(await readFile(file, 'utf8')) as Config
    config.cluster.listen_multiaddress = config.cluster.listen_multiaddress
      .filter(address => address.includes('/tcp/'))
      .map(address => address.replace('/0.0.0.0/', '/127.0.0.1/'))
    config.cluster.mdns_interval = '0s'
    config.ipfs_connector.ipfshttp.node_multiaddress = kubo.rpc
    await writeFile(file, JSON.stringify(config))
    const [, , host, , port] = config.api.restapi.http_listen_multiaddress.split('/')
    const url = `http://${host}:${port}`
    const daemon = await ChildServer.run(
      '/bin/sh',
      ['-c', 'exec "$0" daemon 2>&1', program],
      env,
      /IPFS Cluster is READY/,
    )
    const to = (method: string, path: string) => ({ method, url: url + path, headers: {} })
    return {
      pids: [daemon.pid, ...kubo.pids],
      upload: kind =>
        to(
          'POST',
          '/add?stream-channels=false&progress=false&cid-version=1&raw-leaves=true&chunker=size-1048576' +
            (kind === 'tree' ? '&wrap-with-directory=true' : ''),
        ),
      // Its nodes always have 174 links, so its roots differ.
      isComparable: false,
      rootOf: rootIn,
      status: cid => to('GET', `/pins/${cid}`),
      remove: cid => to('DELETE', `/pins/${cid}`),
      async stop() {
        await daemon.stop()
        await kubo.stop()
      },
    }
  } catch (error) {
    await kubo.stop()
    throw error
  }
}

/** Returns the root, which is the last entry of the answer. */
export function rootIn(answer: string): string {
  const added = JSON.parse(answer) as Array<{ cid?: string }>
  const cid = added.at(-1)?.cid
  if (cid === undefined) throw new Error(`an upload was answered without a CID: ${answer.slice(-300)}`)
  return cid
}
