/** A store as the configuration of a Kubo has it. */
type Store = Readonly<Record<string, unknown>>

const NONE: Store = {}
/** Configurations that are nested more deeply are not read. */
const DEEPEST = 8

/**
 * What may be lost with the power of what a Kubo says it has pinned; null if nothing may. It has nobody sync blocks
 * before it notes a pin, and afterwards only the store that has the pins.
 *
 * @param spec `Datastore.Spec` of its configuration
 */
export function lostWithPower(spec: unknown): string | null {
  const blocks = storeOf(spec, '/blocks')
  const pins = storeOf(spec, '/pins')
  if (!syncsItself(blocks) && !(blocks === pins && syncsWhenAsked(blocks))) {
    return `it keeps blocks in ${nameOf(blocks)}, which are not synced`
  }
  return syncsItself(pins) || syncsWhenAsked(pins) ? null : `it keeps pins in ${nameOf(pins)}, which are not synced`
}

/** The store that keeps a key: of those that are mounted, the one whose place is the longest above it. */
function storeOf(spec: unknown, key: string): Store {
  let store = storeIn(spec)
  for (let depth = 0; depth < DEEPEST; depth++) {
    if (store.type === 'mount') store = mountedAt(store, key)
    // These pass on whatever they are asked.
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

/** Whether what it is given is durable when it says so. */
function syncsItself({ type, sync, syncWrites }: Store): boolean {
  return type === 'levelds' || (type === 'flatfs' && sync === true) || (type === 'badgerds' && syncWrites === true)
}

/** Whether it syncs everything that it was given until then. */
function syncsWhenAsked({ type, disableWAL }: Store): boolean {
  return type === 'badgerds' || (type === 'pebbleds' && disableWAL !== true)
}

function nameOf({ type, sync }: Store): string {
  if (type === 'flatfs') return `flatfs with "sync": ${sync === true}`
  return typeof type === 'string' && /^[a-z]{1,20}$/.test(type) ? type : 'a store that is not known'
}
