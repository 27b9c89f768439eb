import { readFile } from 'node:fs/promises'
import { type BlockSource, CheckedSource } from '../content/block-source.ts'
import type { Clock } from '../domain/clock.ts'
import { backendPlace, type ClusterDefinition, type HoldfastBackendDefinition } from '../domain/cluster.ts'
import { HoldfastError } from '../domain/errors.ts'
import { withoutTrailingSlashes } from '../domain/trailing-slashes.ts'
import type { ClusterBackend } from './cluster-backend.ts'

/** What keeps a cluster elsewhere. */
export interface RemoteCluster {
  /** @param mark by what this node's records are known there: unique to it, printable */
  connect(mark: string): ClusterBackend
  /** Every block checked; null if it cannot be read there, so that all of it stays here. */
  reader: BlockSource | null
  /** Bytes of its content that stay on this disk. */
  cacheBytes: number
  /** For how long all of a content stays here once it is there, in milliseconds. */
  graceMs: number
}

/** The clusters that are kept elsewhere, by id; those that one backend keeps are one and the same. The caller closes them. */
export interface RemoteClusters {
  clusters: ReadonlyMap<string, RemoteCluster>
  close(): Promise<void>
}

export type Environment = Readonly<Record<string, string | undefined>>

/** By cluster id. */
export type GivenBackends = Readonly<Record<string, ClusterBackend>>

const CACHE_BYTES = 1024 ** 3
const GRACE_SECONDS = 86_400

/** @throws HoldfastError `CONFIG_INVALID` for a key that is not to be had */
export async function openRemotes(
  definitions: readonly ClusterDefinition[],
  { clock, environment, backends }: { clock: Clock; environment: Environment; backends: GivenBackends },
): Promise<RemoteClusters> {
  const given = givenClusters(definitions, backends)
  const remote = definitions.flatMap(({ id, backend }) => (backend === undefined ? [] : [{ id, backend }]))
  if (remote.length === 0) return { clusters: given, close: async () => undefined }
  const keys = new Map<string, string>()
  for (const { id, backend } of remote) keys.set(id, await keyOf(id, backend, environment))
  // Without such a cluster nothing of this is loaded.
  const { openHttpClient } = await import('../network/http-client.ts')
  const { GatewayClient } = await import('../network/providers/gateway-client.ts')
  const { GatewaysReader } = await import('./gateways-reader.ts')
  const { HoldfastBackend } = await import('./holdfast/holdfast-backend.ts')
  const http = openHttpClient()
  // The owner has named these places: they may be anywhere.
  const gateway = new GatewayClient({ trusted: new Set(), allowPrivate: true })
  const clusters = new Map(given)
  const byPlace = new Map<string, RemoteCluster>()
  for (const { id, backend } of remote) {
    const known = byPlace.get(backendPlace(backend))
    if (known !== undefined) {
      clusters.set(id, known)
      continue
    }
    const url = withoutTrailingSlashes(backend.url)
    const base = backend.gateway ?? url.replace(/\/api\/v3$/, '')
    const reader = new GatewaysReader([gatewayOrigin(base)], gateway, clock)
    const there = { url, key: keys.get(id) ?? '', cluster: backend.cluster, send: http.send, reader }
    const cluster = {
      connect: (mark: string) => new HoldfastBackend({ ...there, mark }),
      reader,
      cacheBytes: backend.cacheBytes ?? CACHE_BYTES,
      graceMs: (backend.localGraceSeconds ?? GRACE_SECONDS) * 1_000,
    }
    byPlace.set(backendPlace(backend), cluster)
    clusters.set(id, cluster)
  }
  const close = async (): Promise<void> => {
    await Promise.all([http.close(), gateway.close()])
  }
  return { clusters, close }
}

/** A gateway's base, as it is asked. */
function gatewayOrigin(base: string): URL {
  return new URL(withoutTrailingSlashes(base).replace(/\/ipfs$/, ''))
}

/** Those that the host program keeps. */
function givenClusters(definitions: readonly ClusterDefinition[], backends: GivenBackends): Map<string, RemoteCluster> {
  const fail = (id: string, problem: string): never => {
    throw new HoldfastError('CONFIG_INVALID', `backends: ${id} ${problem}`)
  }
  const clusters = new Map<string, RemoteCluster>()
  const made = new Map<ClusterBackend, RemoteCluster>()
  for (const [id, backend] of Object.entries(backends)) {
    const definition = definitions.find(cluster => cluster.id === id) ?? fail(id, 'is none of the clusters')
    if (definition.backend !== undefined) fail(id, 'is a cluster that has a backend by its configuration')
    if (definition.dataDir !== undefined) fail(id, 'is a cluster that has a dataDir by its configuration')
    const isOne = (['pin', 'unpin', 'status'] as const).every(name => typeof backend?.[name] === 'function')
    if (!isOne) fail(id, 'is no ClusterBackend: it needs pin, unpin and status')
    const reader = backend.reader ? new CheckedSource(backend.reader) : null
    const options = { cacheBytes: CACHE_BYTES, graceMs: GRACE_SECONDS * 1_000 }
    const cluster = made.get(backend) ?? { connect: () => backend, reader, ...options }
    made.set(backend, cluster)
    clusters.set(id, cluster)
  }
  return clusters
}

/** The message names where the key was looked for, never what was found. */
async function keyOf(
  id: string,
  { keyFile, keyEnv }: HoldfastBackendDefinition,
  environment: Environment,
): Promise<string> {
  const fail = (field: string, problem: string, cause?: unknown): never => {
    throw new HoldfastError('CONFIG_INVALID', `clusters: ${id}.backend.${field} ${problem}`, { cause })
  }
  if (keyFile === undefined && keyEnv === undefined) return fail('keyFile', 'or keyEnv is needed')
  const field = keyFile === undefined ? 'keyEnv' : 'keyFile'
  const text =
    keyFile === undefined
      ? environment[keyEnv ?? '']
      : await readFile(keyFile, 'utf8').catch((cause: unknown) => fail('keyFile', `${keyFile} cannot be read`, cause))
  const key = text?.trim() ?? ''
  if (key === '') return fail(field, `${keyFile ?? keyEnv} has no key in it`)
  if (!/^[\x21-\x7e]+$/.test(key)) return fail(field, `${keyFile ?? keyEnv} has what is no key in it`)
  return key
}
