import { useEffect, useState } from 'preact/hooks'
import type { NewSession, SecondFactorAsked } from '../../client/index.ts'
import { clearOldPages, maySurvive } from './kept-sign-in.ts'
import { html } from './markup.ts'
import { newClient } from './session.ts'
import { FieldProblem } from './widgets/field.ts'
import { useAction } from './widgets/use-load.ts'
import { wordsFor } from './words.ts'

/** The secret of a sign-in that has begun. Only this tab has it, so the answer for another tab is refused. */
const NAME = `holdfast sign-in ${new URL('.', document.baseURI).pathname}`

interface ProviderProps {
  onAnswer: (answer: NewSession | SecondFactorAsked) => Promise<void>
  /** Called if another tab asked the provider for a proof, and has taken the answer. */
  onHandedOver: () => void
}

/** Channel between the tabs of this console. An answer is of no use without the secret of its tab. */
const CHANNEL = `holdfast proof ${new URL('.', document.baseURI).pathname}`
/** How long a tab waits for another one to take its answer, in ms. */
const TAKEN_MS = 3_000

/** Button of the sign-in provider. Also completes the sign-in when the provider has sent the browser back. */
export function ProviderButton({ onAnswer, onHandedOver }: ProviderProps) {
  const [label, setLabel] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const { run, isBusy, error } = useAction()
  useEffect(() => {
    if (!maySurvive()) return
    void providerName().then(setLabel, () => undefined)
    const answer = takeAnswer()
    if (answer !== null) {
      void finish(answer)
        .then(found => (found === null ? onHandedOver() : onAnswer(found)))
        .catch(error => setProblem(wordsFor(error)))
    }
  }, [])
  if (label === null) return null
  return html`<div class="stack">
    <button class="wide" disabled=${isBusy} onClick=${() => run(begin)}>Sign in with ${label}</button>
    <${FieldProblem} text=${error ?? problem} />
  </div>`
}

export async function providerName(): Promise<string | null> {
  const answer = await fetch(new URL('provider', document.baseURI))
  return answer.ok ? (await answer.text()).trim() : null
}

async function begin(): Promise<void> {
  if (!(await clearOldPages())) throw new Error('This browser keeps old pages: sign in with a key or password')
  const { url, secret } = await newClient().sessions.startProvider()
  sessionStorage.setItem(NAME, secret)
  location.assign(url)
}

/** Returns the query of the provider, and removes it from the address and the history. */
function takeAnswer(): string | null {
  const answer = location.search
  if (!new URLSearchParams(answer).has('state')) return null
  history.replaceState(null, '', `${location.pathname}#/`)
  return answer
}

/** Calls `take` with the answer to a sign-in that this tab began at `url`, and another tab received. */
export function hearAnswer(url: string, take: (answer: string) => void): () => void {
  const state = stateOf(new URL(url).search)
  const channel = new BroadcastChannel(CHANNEL)
  channel.onmessage = ({ data: { answer } }: MessageEvent<{ answer?: unknown }>) => {
    if (typeof answer !== 'string' || stateOf(answer) !== state) return
    channel.postMessage({ taken: state })
    take(answer)
  }
  return () => channel.close()
}

/** Returns whether another tab has taken the answer. */
async function handOver(answer: string): Promise<boolean> {
  const channel = new BroadcastChannel(CHANNEL)
  const isTaken = new Promise<boolean>(resolve => {
    channel.onmessage = ({ data: { taken } }: MessageEvent<{ taken?: unknown }>) => {
      if (taken === stateOf(answer)) resolve(true)
    }
    setTimeout(() => resolve(false), TAKEN_MS)
  })
  channel.postMessage({ answer })
  return isTaken.finally(() => channel.close())
}

function stateOf(query: string): string | null {
  return new URLSearchParams(query).get('state')
}

/** Returns null if the answer was for another tab. */
async function finish(answer: string): Promise<NewSession | SecondFactorAsked | null> {
  const secret = sessionStorage.getItem(NAME)
  sessionStorage.removeItem(NAME)
  if (secret === null && (await handOver(answer))) return null
  if (secret === null) throw new Error('This sign-in was not started in this tab: start it again')
  return newClient()
    .sessions.finishProvider(secret, answer, { keep: maySurvive() })
    .catch(error => {
      // The code would look like the end of a session.
      throw new Error(error instanceof Error ? error.message : String(error))
    })
}
