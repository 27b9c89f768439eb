import { useEffect, useState } from 'preact/hooks'
import type { HoldfastClient } from '../../../client/index.ts'
import { notify } from '../widgets/notices.ts'
import { wordsOf } from '../widgets/use-load.ts'

/** What is deleted: all records of a content, in one cluster or in all. */
export interface Removal {
  cid: string
  cluster: string | undefined
  /** What it is called. */
  name: string
}

interface Pending {
  removal: Removal
  timer: ReturnType<typeof setTimeout>
  /** Sends it now. */
  act: () => Promise<void>
}

/** The moment in which a deletion can be taken back. */
export const UNDO_MS = 8_000

const pending = new Set<Pending>()
const listeners = new Set<() => void>()

/**
 * Deletes after a moment, in which it can be taken back. A page that is closed within it deletes nothing.
 *
 * @param onDone Told once it is gone, or refused.
 */
export function removeLater(client: HoldfastClient, removal: Removal, onDone: () => void): void {
  const act = async (): Promise<void> => {
    clearTimeout(entry.timer)
    try {
      await client.pins.remove(removal.cid, { cluster: removal.cluster })
    } catch (error) {
      notify({ text: `${removal.name} was not deleted: ${wordsOf(error)}`, isError: true, ms: 10_000 })
    }
    forget(entry)
    onDone()
  }
  const entry: Pending = { removal, act, timer: setTimeout(() => void act(), UNDO_MS) }
  pending.add(entry)
  tell()
  const undo = (): void => {
    clearTimeout(entry.timer)
    forget(entry)
    onDone()
  }
  notify({ text: `Deleting ${removal.name}`, action: { label: 'Undo', run: undo }, ms: UNDO_MS })
}

/** Sends what still waits. */
export async function flushRemovals(): Promise<void> {
  await Promise.all([...pending].map(entry => entry.act()))
}

/** Whether something is about to be deleted; follows. */
export function useRemovals(): (cid: string, cluster: string) => boolean {
  const [, draw] = useState(0)
  useEffect(() => {
    const listener = (): void => draw(turn => turn + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  return (cid, cluster) =>
    [...pending].some(
      ({ removal }) => removal.cid === cid && (removal.cluster === undefined || removal.cluster === cluster),
    )
}

function forget(entry: Pending): void {
  pending.delete(entry)
  tell()
}

function tell(): void {
  for (const listener of listeners) listener()
}
