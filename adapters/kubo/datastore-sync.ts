type Store = Readonly<Record<string, unknown>>

const NONE: Store = {}
/** Maximum nesting of datastores. */
const DEEPEST = 8

/**
 * Describes the pinned data that Kubo may lose in a power cut. Returns null if Kubo loses no data.
 * When Kubo stores a pin, it syncs only the datastore of the pins, not that of the blocks.
 * @param spec the value of `Datastore.Spec` in Kubo's configuration
 */
export function powerCutRisk(spec: unknown): string | null {
  const blocks = storeOf(spec, '/blocks')
  const pins = storeOf(spec, '/pins')
  if (!syncsItself(blocks) && !(blocks === pins && syncsWhenAsked(blocks))) {
    return `it keeps blocks in ${nameOf(blocks)}, which are not synced`
  }
  return syncsItself(pins) || syncsWhenAsked(pins) ? null : `it keeps pins in ${nameOf(pins)}, which are not synced`
}

/** Returns the mount with the longest path that matches the key. */
function storeOf(spec: unknown, key: string): Store {
  let store = storeIn(spec)
  for (let depth = 0; depth < DEEPEST; depth++) {
    if (store.type === 'mount') store = mountedAt(store, key)
    // Datastores of these types only wrap another datastore.
    else if (store.type === 'measure' || store.type === 'log') store = storeIn(store.child)
    else return store
  }
  return NONE
}

function mountedAt({ mounts }: Store, key: string): Store {
  const above = (Array.isArray(mounts) ? mounts : []).map(storeIn).filter(({ mountpoint: at }) => {
    return typeof at === 'string' && (at === '/' || at === key || key.startsWith(`${at}/`))
  })
  return above.toSorted((a, b) => String(b.mountpoint).length - String(a.mountpoint).length)[0] ?? NONE
}

function storeIn(value: unknown): Store {
  return typeof value === 'object' && value !== null ? (value as Store) : NONE
}

function syncsItself({ type, sync, syncWrites }: Store): boolean {
  return type === 'levelds' || (type === 'flatfs' && sync === true) || (type === 'badgerds' && syncWrites === true)
}

/** Returns whether a sync of the datastore makes all its earlier writes durable. */
function syncsWhenAsked({ type, disableWAL }: Store): boolean {
  return type === 'badgerds' || (type === 'pebbleds' && disableWAL !== true)
}

function nameOf({ type, sync }: Store): string {
  if (type === 'flatfs') return `flatfs with "sync": ${sync === true}`
  return typeof type === 'string' && /^[a-z]{1,20}$/.test(type) ? type : 'an unknown datastore'
}
