import { useEffect, useState } from 'preact/hooks'

/** The time in milliseconds, told anew every so often. */
export function useNow(everyMs = 30_000): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return now
}
