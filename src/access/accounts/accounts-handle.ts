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

/** Lists and ends the sessions of accounts. */
export interface Sessions {
  /** Lists the live sessions of an account, oldest first. */
  list(account: string, request: PageRequest): Promise<Page<Session>>
  /** Ends a session immediately. @throws HoldfastError `NOT_FOUND` if the account has no such session */
  end(account: string, id: string): Promise<void>
  /** Ends all sessions of an account immediately, except `keep`. Returns the number of ended sessions. */
  endAll(account: string, keep?: string | null): Promise<number>
}

/** Second factor of accounts: time-based codes, and recovery codes for users who have lost their authenticator. */
export interface SecondFactors {
  /** Returns whether an account needs a code to sign in. */
  isEnabled(account: string): Promise<boolean>
  /**
   * Stores a new secret, which takes effect when {@link SecondFactors.enable} receives a code from it.
   * @throws HoldfastError `CONFLICT` if the second factor is already on, `NOT_FOUND` if there is no such account
   */
  begin(account: Account): Promise<SecondFactorSetup>
  /**
   * Turns the second factor on, so that each login needs a code. Returns the recovery codes, which cannot be read
   * again.
   * @throws HoldfastError `CONFLICT` if {@link SecondFactors.begin} was not called or the second factor is already on,
   * `2fa_required`, `2fa_invalid`, `RATE_LIMIT`
   */
  enable(account: string, code: string | undefined): Promise<string[]>
  /** Turns the second factor off. Returns whether the second factor was on. */
  disable(account: string): Promise<boolean>
}

/** Options to open the accounts of a data directory. */
export interface AccountsOptions {
  /** Data directory of an engine, which may be running. The directory is created if it is missing. */
  dataDir: string
  /** Configuration of the engine, which defines the plans. */
  config?: EngineConfig
  /** Kinds of backends that the configured clusters use. Default: none. */
  adapters?: readonly BackendKind[]
  /** Default: the system clock. */
  clock?: Clock
}

/** Options to open accounts whose catalogue may be in SQLite or PostgreSQL. */
export interface ConnectOptions extends AccountsOptions {
  /**
   * Adapter of the catalogue if the configuration sets `database`: `postgres` from `holdfast/postgres`. Default: none.
   */
  catalogue?: CatalogueAdapter
}

/** Accounts, keys, sessions and second factors of a data directory, without a running engine. */
export interface AccountsHandle {
  accounts: Accounts
  /** API keys of all accounts. */
  keys: Keys
  secondFactor: SecondFactors
  sessions: Sessions
  /** Closes the handle. Call this after all other calls have ended. */
  close(): void
}

/** An {@link AccountsHandle} whose catalogue may be in SQLite or PostgreSQL. */
export interface ConnectedAccounts extends Omit<AccountsHandle, 'close'> {
  /** Closes the handle. Call this after all other calls have ended. */
  close(): Promise<void>
}
