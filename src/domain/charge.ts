/** What a block takes of a disk however few bytes it has: its row, its needs, its place in the indexes. */
const LEAST_CHARGE = 512

/** What a block of so many bytes counts against a quota, in bytes. */
export function chargeOf(size: number): number {
  return Math.max(size, LEAST_CHARGE)
}
