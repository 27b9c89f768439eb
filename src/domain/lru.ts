/** Returns options of a cache for this number of entries. Unlike `max`, they allocate nothing before it is used. */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 }
}
