import type { Call, Service } from '../services/service.ts'

/** What keeps content: a node of ours, or who keeps it for one, asked directly. `pids` are those of our node alone. */
export interface Keeper extends Service {
  readonly name: string
  /** Of who keeps it elsewhere. */
  readonly theirs: readonly number[]
  /** Resolves once all of these are kept as is promised: durably, and by as many as have to have it. */
  untilPinned(roots: readonly string[]): Promise<void>
  /** Resolves once nothing is left here that is to be read from elsewhere. */
  forget(): Promise<void>
  read(path: string): Call
}
