const MOST_THREADS = 4
const BYTES_PER_THREAD = 192 * 1024 ** 2
/** The process's memory divided by this number is the maximum heap size of each thread. */
const HEAP_SHARE = 4

/** Returns the default number of gateway threads and the maximum heap of each, for the memory of the process. */
export function readerSizes(memoryBytes: number, cores: number): { threads: number; heapBytes: number } {
  const affordable = Math.max(1, Math.floor(memoryBytes / BYTES_PER_THREAD))
  return { threads: Math.min(cores, MOST_THREADS, affordable), heapBytes: memoryBytes / HEAP_SHARE }
}
