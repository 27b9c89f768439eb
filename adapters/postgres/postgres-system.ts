import type { CatalogueSystem, ConnectedCatalogue, MoveTarget } from '../../src/catalogue/catalogue-system.ts'
import { forgetSealed, sealedIn } from './access/lost-secrets.ts'
import { postgresAccess } from './access/postgres-access.ts'
import { postgresSignIn } from './access/postgres-sign-in.ts'
import { agreeOnKey } from './access/sealing-key.ts'
import { checkOpen } from './check-open.ts'
import type { Postgres } from './database/postgres.ts'
import { isKnownTo, moveIn, takeUp } from './move-in.ts'
import { openMigrated, openShared } from './shared-database.ts'

/** Timeout for a statement during a move. Counting the rows of large tables takes minutes. */
const MOVE_ANSWER_MS = 3_600_000

export const postgresSystem: CatalogueSystem = {
  open: openShared,
  check: checkOpen,
  connect: async url => connected(await openMigrated({ url }, false)),
  connectToMove: async url => target(await openMigrated({ url, answerMs: MOVE_ANSWER_MS })),
}

function connected(database: Postgres): ConnectedCatalogue {
  return {
    isKnownTo: node => isKnownTo(database, node),
    access: node => postgresAccess(database, node),
    signIn: sealing => postgresSignIn(database, sealing),
    sealed: tables => sealedIn(database, tables),
    forgetSealed: tables => forgetSealed(database, tables),
    close: () => database.close(),
  }
}

function target(database: Postgres): MoveTarget {
  return {
    isKnownTo: node => isKnownTo(database, node),
    signIn: sealing => postgresSignIn(database, sealing),
    moveIn: (source, into) => moveIn(database, source, into),
    agreeOnKey: open => agreeOnKey(database, open),
    takeUp: node => takeUp(database, node),
    close: () => database.close(),
  }
}
