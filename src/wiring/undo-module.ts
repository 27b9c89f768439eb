import { unsettled } from '../concurrency/woken-work.ts'
import { HoldfastError } from '../domain/errors.ts'
import { bulkRunner } from '../pins/removal/bulk-runner.ts'
import type { ChangeSteps } from '../pins/removal/change-attempt.ts'
import { DiskRoom } from '../pins/removal/disk-room.ts'
import { endedEarly } from '../pins/removal/ended-early.ts'
import { KeptBounds } from '../pins/removal/kept-bounds.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'

export type UndoModule = ReturnType<typeof makeUndo>

/** Creates what carries on changes of many records, and ends their undo periods. */
export function makeUndo(
  setup: Setup,
  { storage, access, content, pins }: Pick<PinModules, 'storage' | 'access' | 'content' | 'pins'>,
) {
  const { clock, logger } = setup
  const { bulk, accounts: stored } = storage.catalogue
  const { plans } = access
  const limitsOf = async (accountId: string) => plans.get((await stored.get(accountId))?.plan ?? '')
  const ended = endedEarly({ events: setup.events, logger, wake: () => runner.wake() })
  const bounds = new KeptBounds({ bulk, limitsOf, clock, logger, ended })
  pins.changes.observe({ removed: ({ accountId }) => bounds.look(accountId) })
  let loadSteps: () => Promise<ChangeSteps> = async () => {
    throw new HoldfastError('UNAVAILABLE', 'nothing on this node changes many records')
  }
  const purged = (accountId: string): void => bounds.look(accountId)
  const runner = bulkRunner({ bulk, clock, steps: () => loadSteps(), purged }, logger)
  const room = new DiskRoom({
    bulk,
    collector: content.collector,
    backends: [...storage.reserves.keys()],
    isSetBack: () => pins.deletion.isSetBack(),
    clock,
    ended,
  })
  return {
    limitsOf,
    /** Deletes unused blocks, and first what undo periods keep if `endUndo` is set. */
    collect: async ({ graceMs, endUndo = false }: { graceMs?: number | undefined; endUndo?: boolean | undefined }) => {
      if (endUndo) await room.endAll()
      const freed = await content.collector.collect(graceMs)
      return { ...freed, keptBytes: (await bulk.keptTotals()).bytes }
    },
    /** Sets what carries out changes that have not ended. */
    stepsFrom: (load: () => Promise<ChangeSteps>): void => {
      loadSteps = load
    },
    /** Looks for due changes. */
    wake: () => runner.wake(),
    /** Stops the changes. Their steps may stop afterwards. */
    stopChanges: () => runner.stop(),
    start: async (): Promise<void> => {
      for (const reserve of storage.reserves.values()) reserve.whenFull(hasRoom => room.make(hasRoom))
      pins.accountRemoval.whenPeriodsEnd(() => runner.wake())
    },
    unsettled: () => unsettled([runner, bounds]),
    stop: async (): Promise<void> => {
      await runner.stop()
      await bounds.stop()
    },
  }
}
