import type { StatsBase } from 'node:fs'

/** Returns whether both are the same file or directory, under whatever names. */
export function isSameFile<N extends number | bigint>(one: StatsBase<N>, other: StatsBase<N>): boolean {
  return one.dev === other.dev && one.ino === other.ino
}
