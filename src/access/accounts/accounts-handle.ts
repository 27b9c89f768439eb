import type { CatalogueAdapter } from '../../catalogue/catalogue-adapter.ts'
import type { Page, PageRequest } from '../../catalogue/page.ts'
import type { Session } from '../../catalogue/session-store.ts'
import type { BackendKind } from '../../config/backend-kind.ts'
import type { EngineConfig } from '../../config/engine-options.ts'
import type { Clock } from '../../domain/clock.ts'
import type { Keys } from '../keys/keys.ts'
import type { Account } from '../principal.ts'
import type { SecondFactorSetup } from '../sign-in/second-factor-check.ts'
import type { Accounts } from './accounts.ts'

/** The sessions that accounts have, to be looked at and ended. */
export interface Sessions {
  /** Those of an account that have not ended, oldest first. */
  list(account: string, request: PageRequest): Promise<Page<Session>>
  /** Ends one at once. @throws HoldfastError `NOT_FOUND` unless the account has it. */
  end(account: string, id: string): Promise<void>
  /** Ends all of an account, but the one with the id `keep`, at once. Returns how many. */
  endAll(account: string, keep?: string | null): Promise<number>
}

/** The second factor of accounts: codes by time, and recovery codes for whoever has lost their source. */
export interface SecondFactors {
  /** Whether every login of the account, by its id, asks for a code. */
  isEnabled(account: string): Promise<boolean>
  /** Makes a secret, which counts once {@link SecondFactors.enable} has seen a code of it. @throws HoldfastError `CONFLICT` */
  begin(account: Account): Promise<SecondFactorSetup>
  /**
   * Asks for a code at every login from now on. Returns the recovery codes, which are never to be had again.
   *
   * @throws HoldfastError `CONFLICT` unless it is being set up, `2fa_required`, `2fa_invalid`, or `RATE_LIMIT`.
   */
  enable(account: string, code: string | undefined): Promise<string[]>
  /** Asks for no code any more. Returns whether one was asked for. */
  disable(account: string): Promise<boolean>
}

/** Which accounts to open. */
export interface AccountsOptions {
  /** The data directory of an engine, which may be running; created if missing. */
  dataDir: string
  /** That of the engine: it says which plans there are. */
  config?: EngineConfig
  /** Kinds of systems that clusters of the configuration name. Default: none. */
  adapters?: readonly BackendKind[]
  /** Default: the system's. */
  clock?: Clock
}

/** Which accounts to open, wherever they are kept. */
export interface ConnectOptions extends AccountsOptions {
  /** The database system of a configuration with `database`: `postgres` of `holdfast/postgres`. Default: none. */
  catalogue?: CatalogueAdapter
}

/** The accounts, keys, sessions and second factors of a data directory, without its engine. */
export interface AccountsHandle {
  accounts: Accounts
  /** The API keys of all accounts. */
  keys: Keys
  secondFactor: SecondFactors
  sessions: Sessions
  /** To be called once everything asked for is done. */
  close(): void
}

/** As an {@link AccountsHandle}, of accounts that may be kept elsewhere. */
export interface ConnectedAccounts extends Omit<AccountsHandle, 'close'> {
  /** To be called once everything asked for is done. */
  close(): Promise<void>
}
