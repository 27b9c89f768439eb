import type { Account } from '../principal.ts'

/** An account to be made. */
export interface NewAccount {
  /** Unique on the node, upper and lower case being the same. */
  email: string
  /** Name of a plan, a built-in or a configured one. */
  plan: string
  /** Display name. Default none. */
  name?: string | null
  /** Without one there is no signing in, only keys. */
  password?: string
  /** Default `user`. */
  role?: Account['role']
}

/** Accounts: who may sign in and have keys, and on which plan. Every change is durable when its promise resolves. */
export interface Accounts {
  /**
   * Makes an account.
   *
   * @throws HoldfastError `VALIDATION` for an unknown plan, which names the known ones, or a malformed email, name or
   * password; `CONFLICT` if the email is taken, upper and lower case being the same.
   */
  create(input: NewAccount): Promise<Account>
  /** The first owner: the one who runs the node. Created on the plan `unlimited` if there is none yet. */
  ensureOwner(): Promise<{ account: Account; created: boolean }>
  /** An account by its id. @throws HoldfastError `NOT_FOUND` */
  get(id: string): Promise<Account>
  /** By id, or by email in upper or lower case. Undefined if there is none. */
  find(idOrEmail: string): Promise<Account | undefined>
  /** All of them, oldest first. Where there may be many, {@link Accounts.pages} does not have them in memory at once. */
  list(): Promise<Account[]>
  /** All of them, oldest first, a thousand at a time. */
  pages(): AsyncIterable<Account[]>
  /** Some of the list, from the `offset`th on, and how many accounts there are. */
  page(offset: number, limit: number): Promise<{ accounts: Account[]; total: number }>
  /** Puts an account on a plan. @throws HoldfastError `VALIDATION` for an unknown plan, `NOT_FOUND` for an unknown id */
  setPlan(id: string, plan: string): Promise<Account>
  /**
   * Sets where requests go that name no cluster; null for the engine's default.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` for a cluster that the account's plan does not allow, `NOT_FOUND`.
   */
  setDefaultCluster(id: string, cluster: string | null): Promise<Account>
  /**
   * A disabled account keeps its content; its keys and sessions are refused with `account_disabled` from then on.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner that is not disabled.
   */
  setDisabled(id: string, disabled: boolean): Promise<Account>
  /**
   * Changes what is given of an account's email and name; an empty name is none.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `CONFLICT` if the email is taken, `NOT_FOUND`.
   */
  setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account>
  /**
   * Gives an account a password, its first or another, and ends its sessions but the one with the id `keep`.
   *
   * @param options `field` is what an error calls the password; default `password`
   * @throws HoldfastError `VALIDATION` for a password that will not do, `NOT_FOUND`.
   */
  setPassword(id: string, password: string, options?: { keep?: string | null; field?: string }): Promise<void>
  /**
   * Deletes an account. It cannot be used any more when this resolves, and its email is free; keys, sessions and pins
   * are removed in the background, by an engine on the data directory, and after a restart at the latest.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last owner that is not disabled.
   */
  delete(id: string): Promise<void>
}
