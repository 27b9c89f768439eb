import type { Usage } from './usage.ts'

export interface RunOptions {
  /** An existing empty directory, which the caller removes. */
  dir: string
  scale: Scale
  rounds: number
  /** Default: all subjects. */
  subjects?: readonly string[] | undefined
  /** Receives a short text for the person who waits. */
  progress: (text: string) => void
  signal: AbortSignal
}

/** Amount of work. `tiny` is for warm-ups and tests; its figures mean nothing. */
export type Scale = 'full' | 'quick' | 'tiny'

/** The values of one subject, one for each round. */
export interface Measurement {
  subject: string
  metric: string
  unit: string
  better: 'higher' | 'lower'
  values: number[]
  /** Costs of each round, if the subject runs in its own processes. */
  costs?: Cost[]
  /** Name of the load client if it is not the bench itself. */
  client?: string
}

/** Costs of a round on the machine. */
export interface Cost extends Usage {
  /** Amount of work in the metric's unit, such as MB or requests. */
  amount: number
  /** Share of a core that the load client used. Near 1, the client limited the result. */
  clientShare: number
}

/** A goal of a bench: the least ratio of two medians in the same run. Higher is better. */
export interface Target {
  subject: string
  metric: string
  against: string
  atLeast: number
}

export interface Bench {
  readonly name: string
  /** True if the bench measures once, whatever the number of rounds. */
  readonly isOnce?: boolean
  /** Rounds at full size, if the default would take too long. */
  readonly rounds?: number
  /** Approximate, at full size on two cores. */
  readonly minutes: number
  /** Returns one line that describes what is measured at a size. */
  describe(scale: Scale): string
  readonly targets: readonly Target[]
  run(options: RunOptions): Promise<Measurement[]>
}
