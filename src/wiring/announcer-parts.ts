import type { Announcer } from '../pins/announcer.ts'
import type { PinChanges } from '../pins/pin-changes.ts'
import type { VisibilityChanges } from '../pins/visibility-changes.ts'
import type { BaseModules } from './base-modules.ts'
import { loaders } from './loaders.ts'
import type { Setup } from './setup.ts'

interface Parts extends Pick<BaseModules, 'storage' | 'network'> {
  changes: PinChanges
  visibility: VisibilityChanges
}

/** Returns null for a node without routers, which announces nothing. */
export async function announcerOf(
  { clock, logger }: Setup,
  { storage, network, changes, visibility }: Parts,
): Promise<Announcer | null> {
  const { node, blocks: served } = network
  if (node === null || served === null || !node.hasRouters) return null
  const { Announcer } = await loaders.announcer()
  const { heldRoots: roots, announcements } = storage
  const announcer = new Announcer({ announcing: node, roots, announcements, served, clock, logger })
  const changed = announcer.changed.bind(announcer)
  changes.observe({ created: changed, changed, removed: record => announcer.removed(record) })
  visibility.observe(record => announcer.shown(record))
  // If another node removes a record, this node emits no event for the record.
  storage.work?.gone(dag => announcer.left(dag))
  return announcer
}
