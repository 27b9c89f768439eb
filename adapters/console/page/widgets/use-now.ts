import { useEffect, useState } from 'preact/hooks'

/** Returns the current time in ms, and redraws the component every `everyMs`. */
export function useNow(everyMs = 30_000): number {
  const [, draw] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => draw(turn => turn + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return Date.now()
}
