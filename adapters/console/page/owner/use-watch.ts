import { useEffect } from 'preact/hooks'
import { type LoadState, useLoad } from '../widgets/use-load.ts'

/** Loads data like `useLoad`, and again every `everyMs` while the page is visible. */
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
