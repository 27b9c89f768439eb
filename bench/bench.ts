import type { Usage } from './usage.ts'

/** How a run is asked for. */
export interface RunOptions {
  /** An existing empty directory, for everything that is written. The caller removes it. */
  dir: string
  scale: Scale
  rounds: number
  /** Only these are started, where subjects compete; all without it. */
  subjects?: readonly string[] | undefined
  /** Told in a few words what is going on; for a person who waits. */
  progress: (text: string) => void
  signal: AbortSignal
}

/** `tiny` is for warming up and for tests, whose figures mean nothing. */
export type Scale = 'full' | 'quick' | 'tiny'

/** The values that one subject reached, one a round. */
export interface Measurement {
  subject: string
  metric: string
  unit: string
  better: 'higher' | 'lower'
  values: number[]
  /** What each round took, of a subject in processes of its own. */
  costs?: Cost[]
  /** What asked, where it was not the bench itself. */
  client?: string
}

/** What a round took of the machine. */
export interface Cost extends Usage {
  /** Of what the metric counts, such as 10⁶ bytes or requests. */
  amount: number
  /** Of a core, that the load client took; 1 would say that it is what was measured. */
  clientShare: number
}

/** What a bench promises: the ratio of two medians of the same run, better being higher. */
export interface Target {
  subject: string
  metric: string
  against: string
  atLeast: number
}

/** Something that can be asked for by name on the command line. */
export interface Bench {
  readonly name: string
  /** Whether there are no rounds: it is measured once, whatever the number asked for. */
  readonly isOnce?: boolean
  /** Rounds in full, where those of all others would take too long. */
  readonly rounds?: number
  /** How long it takes in full on two cores, roughly. */
  readonly minutes: number
  /** What is measured at that scale, in one line. */
  describe(scale: Scale): string
  readonly targets: readonly Target[]
  run(options: RunOptions): Promise<Measurement[]>
}
