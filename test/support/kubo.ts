import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Kubo } from '../interop/kubo.ts'

export const TOKEN = 'a-token-of-the-rpc'

const synced = (spec: { mounts: Array<{ type: string }> }) => ({
  ...spec,
  mounts: spec.mounts.map(mount => (mount.type === 'flatfs' ? { ...mount, sync: true } : mount)),
})

/**
 * Creates the repository of a Kubo that keeps a cluster. It syncs to disk, requires {@link TOKEN} and stays offline.
 */
export async function makeKubo(binary: string, repository: string): Promise<Kubo> {
  const kubo = await Kubo.make(binary, repository)
  const set = (path: string, value: unknown) => kubo.run('config', '--json', path, JSON.stringify(value))
  await set('Datastore.Spec', synced(JSON.parse(await kubo.run('config', 'Datastore.Spec'))))
  await set('Addresses.Gateway', '/ip4/127.0.0.1/tcp/0')
  await set('Gateway.NoFetch', true)
  await set('API.Authorizations', { holdfast: { AuthSecret: `bearer:${TOKEN}`, AllowedPaths: ['/api/v0'] } })
  return kubo
}

export function placesOf(repository: string): { api: string; gateway: string } {
  const port = readFileSync(join(repository, 'api'), 'utf8').trim().split('/').at(-1)
  return { api: `http://127.0.0.1:${port}`, gateway: readFileSync(join(repository, 'gateway'), 'utf8').trim() }
}
