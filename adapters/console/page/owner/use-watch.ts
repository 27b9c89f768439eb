import { useEffect } from 'preact/hooks'
import { type LoadState, useLoad } from '../widgets/use-load.ts'

/** Loads data as `useLoad` does. While the page is visible, reloads the data every `everyMs` milliseconds. */
export function useWatch<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
  everyMs = 10_000,
): LoadState<Value> {
  const loaded = useLoad(load, inputs)
  const { reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), everyMs)
    return () => clearInterval(timer)
  }, [reload, everyMs])
  return loaded
}
