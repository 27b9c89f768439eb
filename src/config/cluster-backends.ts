import { isDeepStrictEqual } from 'node:util'
import { Value } from 'typebox/value'
import type { BackendDefinition } from '../domain/cluster.ts'
import { uncheckable } from '../domain/cluster-check.ts'
import { suggestion } from '../domain/near-names.ts'
import type { BackendKind, BackendProblems } from './backend-kind.ts'
import { checkUrl, type Fail, firstProblem } from './schema-problem.ts'

interface GivenClusters {
  clusters?: ReadonlyArray<{ id: string; backend?: BackendDefinition; dataDir?: string }>
  reconcile?: { everyHours?: number }
}

/** Checks the backend of each cluster. Throws if no adapter for its kind was passed. */
export function checkBackends(
  { clusters = [], reconcile }: GivenClusters,
  kinds: readonly BackendKind[],
  fail: Fail,
): void {
  if (!Array.isArray(kinds)) fail('adapters', 'must be an array')
  kinds.forEach((kind: unknown, i) => {
    if (!isKind(kind)) fail(`adapters.${i}`, 'must be an adapter, such as kubo of holdfast/kubo')
  })
  const places = new Map<string, { id: string; backend: BackendDefinition; dataDir: string | undefined }>()
  for (const [i, { id, backend, dataDir }] of clusters.entries()) {
    if (backend === undefined) continue
    const path = `clusters.${i}.backend`
    const kind = checkBackend(backend, kinds, problemsAt(path, fail))
    const unkept = uncheckable(reconcile?.everyHours, backend.localGraceSeconds)
    if (unkept !== null) fail(`${path}.localGraceSeconds`, unkept)
    const place = kind.placeOf(backend)
    const first = places.get(place) ?? { id, backend, dataDir }
    places.set(place, first)
    // Clusters with the same place share its directory and its limits.
    if (isDeepStrictEqual([backend, dataDir], [first.backend, first.dataDir])) continue
    fail(path, `names the same place as ${first.id}, so all its fields must be equal`)
  }
}

function isKind(given: unknown): given is BackendKind {
  if (typeof given !== 'object' || given === null) return false
  const { type, schema, check, placeOf } = given as Partial<Record<keyof BackendKind, unknown>>
  const isComplete = typeof schema === 'object' && typeof check === 'function' && typeof placeOf === 'function'
  return typeof type === 'string' && isComplete
}

function checkBackend(
  backend: BackendDefinition,
  kinds: readonly BackendKind[],
  problems: BackendProblems,
): BackendKind {
  const kind = kinds.find(({ type }) => type === backend.type)
  if (kind === undefined) return problems.fail('type', missingKind(backend.type, kinds))
  if (!Value.Check(kind.schema, backend)) {
    const { path, problem } = firstProblem(kind.schema, backend)
    problems.fail(path, problem)
  }
  kind.check(backend, problems)
  return kind
}

/** Derives the adapter's name from the kind: `ipfs-cluster` has `ipfsCluster`. */
function missingKind(type: string, kinds: readonly BackendKind[]): string {
  const types = kinds.map(kind => kind.type)
  const passed = kinds.length === 0 ? 'has no adapter' : `must be one of ${types.join(', ')}`
  const meant = suggestion(type, types)
  if (meant !== '') return passed + meant
  if (type.length > 32 || !type.split('-').every(word => /^[a-z]+$/.test(word))) return passed
  const name = type.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
  return `${passed}; to use ${type}, import { ${name} } from 'holdfast/${type}' and pass it in adapters`
}

function problemsAt(path: string, fail: Fail): BackendProblems {
  const at = (field: string): string => (field === '' ? path : `${path}.${field}`)
  return {
    fail: (field, problem) => fail(at(field), problem),
    url: (field, text) => checkUrl(at(field), text, fail),
  }
}
