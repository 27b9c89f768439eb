import type { PlaceState } from '../catalogue/copies.ts'
import type { BackendStatus } from '../clusters/cluster-backend.ts'
import type { OwnedDag } from '../ledger/whole-dag.ts'
import type { PinCommitParts } from '../pins/pin-commit.ts'
import type { BaseModules } from './base-modules.ts'

/**
 * Announces new records to the nodes that should copy them. After a commit, an error must not fail the request. Returns
 * null for a node without a fleet.
 */
export function copiedOf({
  storage,
  nodes: { member },
  clusters: { registry },
}: BaseModules): PinCommitParts['copied'] {
  if (member === null) return null
  return async record => {
    const wanted = registry.copiesOf(record.clusterId)
    if (wanted === 1) return null
    const places = await placesOf(storage, record)
    if (places === null) return null
    const nodesIn = (...states: Array<PlaceState['state']>): string[] =>
      places.flatMap(({ node, state }) => (states.includes(state) ? node : []))
    member.announceCopies(nodesIn('wanted'))
    return { wanted, have: nodesIn('have', 'surplus').length }
  }
}

/** Returns the nodes of content, as answers show them. Null if copies are off, or while the database does not answer. */
export async function shownPlaces(
  storage: BaseModules['storage'],
  dag: OwnedDag,
): Promise<BackendStatus['allocations'] | null> {
  const places = await placesOf(storage, dag)
  return places?.map(shownPlace) ?? null
}

async function placesOf({ copies }: BaseModules['storage'], dag: OwnedDag): Promise<PlaceState[] | null> {
  const found = copies().then(known => known?.placesOf(dag))
  return (await found.catch(() => null)) ?? null
}

function shownPlace({ node: peer, state, reason }: PlaceState): BackendStatus['allocations'][number] {
  if (state === 'wanted') return { peer, state: 'queued', error: reason }
  if (state === 'damaged') return { peer, state: 'queued', error: `damaged: ${reason ?? 'it is repaired'}` }
  return { peer, state: 'pinned', error: null }
}
