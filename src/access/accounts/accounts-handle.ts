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

/** Lists and ends sessions of accounts. */
export interface Sessions {
  /** Lists the live sessions of an account, oldest first. */
  list(account: string, request: PageRequest): Promise<Page<Session>>
  /** Ends a session at once. @throws HoldfastError `NOT_FOUND` unless the account has it */
  end(account: string, id: string): Promise<void>
  /** Ends all sessions of an account at once, except the session `keep`. Returns their number. */
  endAll(account: string, keep?: string | null): Promise<number>
}

/** The second factor of accounts: time-based codes, and recovery codes for users without their authenticator. */
export interface SecondFactors {
  /** Checks whether logins of an account need a code. */
  isEnabled(account: string): Promise<boolean>
  /**
   * Stores a new secret. It takes effect when {@link SecondFactors.enable} receives a code of it.
   *
   * @throws HoldfastError `CONFLICT` if the second factor is on, `NOT_FOUND` without such an account
   */
  begin(account: Account): Promise<SecondFactorSetup>
  /**
   * Requires a code at every further login. Returns the recovery codes, which cannot be read again.
   *
   * @throws HoldfastError `CONFLICT` without {@link SecondFactors.begin} or if it is on, `2fa_required`, `2fa_invalid`,
   * `RATE_LIMIT`
   */
  enable(account: string, code: string | undefined): Promise<string[]>
  /** Turns the second factor off. Returns whether it was on. */
  disable(account: string): Promise<boolean>
}

/** Options to open the accounts of a data directory. */
export interface AccountsOptions {
  /** Data directory of an engine, which may be running. Created if missing. */
  dataDir: string
  /** Configuration of the engine, which defines the plans. */
  config?: EngineConfig
  /** Kinds of backends of the configured clusters. Default: none. */
  adapters?: readonly BackendKind[]
  /** Default: the system clock. */
  clock?: Clock
}

/** Options to open the accounts of a data directory or a database. */
export interface ConnectOptions extends AccountsOptions {
  /** Catalogue of a configuration with `database`: `postgres` of `holdfast/postgres`. Default: none. */
  catalogue?: CatalogueAdapter
}

/** Accounts, keys, sessions and second factors of a data directory, without its engine. */
export interface AccountsHandle {
  accounts: Accounts
  /** The API keys of all accounts. */
  keys: Keys
  secondFactor: SecondFactors
  sessions: Sessions
  /** Call it after all other calls have resolved. */
  close(): void
}

/** An {@link AccountsHandle} for accounts in a data directory or a database. */
export interface ConnectedAccounts extends Omit<AccountsHandle, 'close'> {
  /** Call it after all other calls have resolved. */
  close(): Promise<void>
}
