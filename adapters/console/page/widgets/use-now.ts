import { useEffect, useState } from 'preact/hooks'

/** The time in milliseconds; what shows it is drawn anew every so often. */
export function useNow(everyMs = 30_000): number {
  const [, draw] = useState(0)
  useEffect(() => {
    const timer = setInterval(() => draw(turn => turn + 1), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return Date.now()
}
