import { useEffect, useState } from 'preact/hooks'
import type { HoldfastClient } from '../../../client/index.ts'
import { notify } from '../widgets/notices.ts'
import { wordsFor } from '../words.ts'

/** A deletion of all records of a content, in one cluster or in all clusters. */
export interface ShownRemoval {
  cid: string
  cluster: string | undefined
  name: string
}

interface Pending {
  removal: ShownRemoval
  timer: ReturnType<typeof setTimeout>
  act: () => Promise<void>
}

const UNDO_MS = 8_000

const pending = new Set<Pending>()
const listeners = new Set<() => void>()
let ended = 0

/** Deletes content after the time for undo. If the page is closed earlier, nothing is deleted. */
export function removeLater(client: HoldfastClient, removal: ShownRemoval): void {
  const act = async (): Promise<void> => {
    clearTimeout(entry.timer)
    dismiss()
    try {
      await client.pins.remove(removal.cid, { cluster: removal.cluster })
    } catch (error) {
      notify({ text: `${removal.name} was not deleted: ${wordsFor(error)}`, isError: true, ms: 10_000 })
    }
    forget(entry)
  }
  const entry: Pending = { removal, act, timer: setTimeout(() => void act(), UNDO_MS) }
  pending.add(entry)
  tell()
  const undo = (): void => {
    clearTimeout(entry.timer)
    forget(entry)
  }
  const dismiss = notify({ text: `Deleting ${removal.name}`, action: { label: 'Undo', run: undo }, ms: UNDO_MS })
}

export async function flushRemovals(): Promise<void> {
  await Promise.all([...pending].map(entry => entry.act()))
}

export interface Removals {
  /** Returns whether a deletion of the content in this cluster is pending. */
  isGoing: (cid: string, cluster: string) => boolean
  /** Number of deletions that succeeded, failed or were undone. */
  ended: number
}

export function useRemovals(): Removals {
  const [, draw] = useState(0)
  useEffect(() => {
    const listener = (): void => draw(turn => turn + 1)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, [])
  const isGoing = (cid: string, cluster: string): boolean =>
    [...pending].some(
      ({ removal }) => removal.cid === cid && (removal.cluster === undefined || removal.cluster === cluster),
    )
  return { isGoing, ended }
}

function forget(entry: Pending): void {
  pending.delete(entry)
  ended++
  tell()
}

function tell(): void {
  for (const listener of listeners) listener()
}
