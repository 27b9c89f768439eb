import { Statistics } from '../pins/lists/statistics.ts'
import { DueVerification } from '../upkeep/due-verification.ts'
import type { BackupModule } from './backup-module.ts'
import type { LaterModule } from './later-module.ts'
import type { PinModules } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { UpkeepWorkModule } from './upkeep-work-module.ts'

export type UpkeepModule = ReturnType<typeof makeUpkeep>

interface Below extends PinModules {
  upkeepWork: LaterModule<UpkeepWorkModule>
  backup: LaterModule<BackupModule>
}

/** Creates the timers and the figures of upkeep. The work itself is loaded when it is due. */
export function makeUpkeep(setup: Setup, below: Below) {
  const { clock, logger, history, failures, config } = setup
  const { upkeepWork, storage } = below
  const verification = new DueVerification({
    table: storage.verification,
    everyDays: config.verify.everyDays,
    load: async () => (await upkeepWork.load()).verification,
    clock,
    logger,
  })
  const statistics = statisticsOf(setup, below, verification)
  return {
    history,
    failures,
    statistics,
    start: async (): Promise<void> => {
      await verification.start()
      history.start(() => statistics.read())
    },
    stop: async (): Promise<void> => {
      history.stop()
      await verification.stop()
    },
  }
}

function statisticsOf(
  { activity }: Setup,
  { storage, network, clusters, pins, backup }: Below,
  due: DueVerification,
): Statistics {
  return new Statistics(storage.census, activity, {
    keptBytes: async () => (await storage.catalogue.bulk.keptTotals()).bytes,
    peerCount: () => network.peerCount(),
    publicNetwork: () => network.publicNetwork(),
    announcements: pins.announcements,
    clusters: () => clusters.watch.health(),
    copies: async () => (clusters.registry.hasCopies ? ((await (await storage.copies())?.counts()) ?? null) : null),
    backups: () => backup.made?.backups.newest() ?? null,
    disks: () =>
      Promise.all([...storage.reserves].map(async ([backend, reserve]) => ({ backend, ...(await reserve.look()) }))),
    clockSkewMs: () => storage.shared?.changes.health.skewMs ?? null,
    verification: () => {
      const { blocks = 0, damaged = 0, lastBlock = 0, endedAt = null } = storage.verification.get() ?? {}
      return { blocks, damaged, isRunning: lastBlock > 0, endedAt, behindMs: due.behindMs() }
    },
  })
}
