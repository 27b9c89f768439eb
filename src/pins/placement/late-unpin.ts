import type { PlacementRow } from '../../catalogue/placements.ts'
import type { Clock } from '../../domain/clock.ts'

/**
 * Returns the time in ms for which a pin must wait; 0 for none. Until then, an unpin request of unknown outcome may
 * still reach the backend. It would remove the content after a new pin, and so an acknowledged upload.
 */
export function lateUnpinMs({ unpinUntil }: Pick<PlacementRow, 'unpinUntil'>, clock: Clock): number {
  return Math.max(0, unpinUntil - clock.now())
}
