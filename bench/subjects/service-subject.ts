import type { Outcome, Subject, Work } from '../contest.ts'
import type { Service, ServiceKind } from '../services/service.ts'

/** Work that has only sizes. The subject creates the content itself. */
export class Sizes<S> implements Work {
  readonly sizes: S

  constructor(sizes: S) {
    this.sizes = sizes
  }

  refill(): void {}
}

interface Parts<W extends Work, P> {
  prepare(service: Service, work: W, before: P | undefined): Promise<P>
  run(service: Service, prepared: P, work: W): Promise<Outcome>
}

/** Returns a subject that prepares a service for each round and then loads it. */
export function serviceSubject<W extends Work, P>(
  { name, start }: ServiceKind,
  { prepare, run }: Parts<W, P>,
): Subject<W> {
  return {
    name,
    async start(dir) {
      const service = await start(dir)
      const prepared = new Map<W, P>()
      return {
        pids: service.pids,
        async prepare(work) {
          prepared.set(work, await prepare(service, work, prepared.get(work)))
        },
        async run(work) {
          const ready = prepared.get(work)
          if (ready === undefined) throw new Error(`${name} was not prepared`)
          return run(service, ready, work)
        },
        stop: () => service.stop(),
      }
    },
  }
}
