import { useEffect, useState } from 'preact/hooks'

/** Returns the time in milliseconds, and redraws at an interval. */
export function useNow(everyMs = 30_000): number {
  const [, draw] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => draw(turn => turn + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return Date.now()
}
