import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { isHoldfastError } from '../../../client/index.ts'
import { type PageSession, SessionContext } from '../session.ts'
import { wordsFor } from '../words.ts'

export interface LoadState<Value> {
  /** Last loaded value, even during a reload. */
  value: Value | undefined
  error: string | null
  isLoading: boolean
  reload: () => void
}

/** Pauses in ms before each retry of a load that failed because the server was unavailable. The last one repeats. */
const RETRY_MS = [2_000, 5_000, 15_000]

/**
 * Loads a value, and again whenever `inputs` change. Aborts a load for earlier inputs. Retries while the server is
 * unavailable.
 *
 * @param load must stop when the signal aborts
 */
export function useLoad<Value>(
  load: (signal: AbortSignal) => Promise<Value>,
  inputs: readonly unknown[],
): LoadState<Value> {
  const [state, setState] = useState<Omit<LoadState<Value>, 'reload'>>({
    value: undefined,
    error: null,
    isLoading: true,
  })
  const [turn, setTurn] = useState(0)
  const failures = useRef(0)
  const reload = useCallback(() => setTurn(before => before + 1), [])
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let retry: ReturnType<typeof setTimeout> | undefined
    // A retry keeps the error on the page until the load succeeds.
    setState(({ value, error }) => ({ value, error: failures.current > 0 ? error : null, isLoading: true }))
    const failed = (error: unknown): void => {
      if (signal.aborted) return
      const isOut = isHoldfastError(error, 'UNAVAILABLE')
      if (isOut) retry = setTimeout(reload, RETRY_MS[Math.min(failures.current, RETRY_MS.length - 1)])
      failures.current = isOut ? failures.current + 1 : 0
      const words = wordsFor(error)
      setState(({ value }) => ({ value, error: isOut ? `${words}. Trying again…` : words, isLoading: false }))
    }
    load(signal).then(value => {
      if (signal.aborted) return
      failures.current = 0
      setState({ value, error: null, isLoading: false })
    }, failed)
    return () => {
      controller.abort()
      clearTimeout(retry)
    }
  }, [...inputs, turn])
  useEffect(() => {
    addEventListener('online', reload)
    return () => removeEventListener('online', reload)
  }, [reload])
  return { ...state, reload }
}

/** Runs an action. If the server asks for a proof, asks the user for it and runs the action again. */
async function confirmed(act: () => Promise<unknown>, session: PageSession | null): Promise<void> {
  try {
    await act()
    return
  } catch (error) {
    if (session === null || !isHoldfastError(error, 'proof_required')) throw error
    if (!(await session.prove(String(error.details.proof))))
      throw new Error('Nothing was done, because you did not confirm')
  }
  try {
    await act()
  } catch (error) {
    if (!isHoldfastError(error, '2fa_invalid')) throw error
    throw new Error('Your sign-in is confirmed. Wait for the next code of your app, and enter that one')
  }
}

export interface Action {
  isBusy: boolean
  error: string | null
  /** Runs an action unless another one is running. Resolves to true if the action succeeded. */
  run: (act: () => Promise<unknown>) => Promise<boolean>
  clear: () => void
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const running = useRef(false)
  const session = useContext(SessionContext)
  const run = async (act: () => Promise<unknown>): Promise<boolean> => {
    if (running.current) return false
    running.current = true
    setBusy(true)
    setError(null)
    try {
      await confirmed(act, session)
      return true
    } catch (error) {
      setError(wordsFor(error))
      return false
    } finally {
      running.current = false
      setBusy(false)
    }
  }
  return { isBusy, error, run, clear: () => setError(null) }
}
