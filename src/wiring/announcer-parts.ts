import type { Announcer } from '../pins/announcer.ts'
import type { PinChanges } from '../pins/pin-changes.ts'
import type { VisibilityChanges } from '../pins/visibility-changes.ts'
import type { NetworkModule } from './network-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type AnnouncerLoader = () => Promise<{ Announcer: typeof Announcer }>

interface Parts {
  storage: StorageModule
  network: NetworkModule
  changes: PinChanges
  visibility: VisibilityChanges
  load: AnnouncerLoader
}

/** Returns null for a node without routers, which announces nothing. */
export async function announcerOf(
  { clock, logger }: Setup,
  { storage, network, changes, visibility, load }: Parts,
): Promise<Announcer | null> {
  const { node, blocks: served } = network
  if (node === null || served === null || !node.hasRouters) return null
  const { Announcer } = await load()
  const { heldRoots: roots, announcements } = storage
  const announcer = new Announcer({ announcing: node, roots, announcements, served, clock, logger })
  const changed = announcer.changed.bind(announcer)
  changes.observe({ created: changed, changed, removed: record => announcer.removed(record) })
  visibility.observe(record => announcer.shown(record))
  // If another node removes a record, this node emits no event for the record.
  storage.work?.gone(dag => announcer.left(dag))
  return announcer
}
