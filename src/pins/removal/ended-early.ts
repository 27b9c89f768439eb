import type { BulkChange } from '../../catalogue/bulk-changes.ts'
import type { Emitter } from '../../domain/emitter.ts'
import type { Logger } from '../../domain/logger.ts'
import type { EngineEvents } from '../pin-types.ts'

/**
 * Returns a function that tells the log and the listeners that an undo period ended early, and wakes the purge of its
 * records. The account sees it in the job.
 */
export function endedEarly(parts: {
  events: Emitter<EngineEvents>
  logger: Logger
  wake: () => void
}): (change: BulkChange) => void {
  return ({ name, accountId, undoEnded, freedBytes }) => {
    if (undoEnded === null) return
    const told = { account: accountId, job: name, reason: undoEnded }
    parts.logger.warn({ ...told, bytes: freedBytes }, 'the undo period of a job ended early')
    parts.events.emit('undo:ended', told)
    parts.wake()
  }
}
