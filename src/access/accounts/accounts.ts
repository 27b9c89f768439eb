import type { Account } from '../principal.ts'

/** Fields of a new account. */
export interface NewAccount {
  /** Unique on the node, regardless of case. */
  email: string
  /** Name of a built-in or configured plan. */
  plan: string
  /** Display name. Default none. */
  name?: string | null
  /** Without a password the account cannot sign in, and uses keys only. */
  password?: string
  /** Default `user`. */
  role?: Account['role']
}

/** Accounts and their plans. Every change is durable when its promise resolves. */
export interface Accounts {
  /**
   * Creates an account.
   *
   * @throws HoldfastError `VALIDATION` for an unknown plan or an invalid email, name or password; `CONFLICT` if another
   * account has the email
   */
  create(input: NewAccount): Promise<Account>
  /** Returns the first owner, the operator of the node. Creates it on the plan `unlimited` if there is none. */
  ensureOwner(): Promise<{ account: Account; created: boolean }>
  /** Returns an account by its id. @throws HoldfastError `NOT_FOUND` */
  get(id: string): Promise<Account>
  /** Returns an account by its id, or by its email regardless of case. */
  find(idOrEmail: string): Promise<Account | undefined>
  /** Lists all accounts, oldest first. For many accounts use {@link Accounts.pages}, which needs less memory. */
  list(): Promise<Account[]>
  /** Lists all accounts, oldest first, in pages of a thousand. */
  pages(): AsyncIterable<Account[]>
  /** Lists `limit` accounts from the position `offset`, oldest first, and counts all. */
  page(offset: number, limit: number): Promise<{ accounts: Account[]; total: number }>
  /** Sets the plan. @throws HoldfastError `VALIDATION` for an unknown plan, `NOT_FOUND` for an unknown account */
  setPlan(id: string, plan: string): Promise<Account>
  /**
   * Sets the cluster for requests that name none; null means the engine's default.
   *
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` if the plan does not allow the cluster, `NOT_FOUND`
   */
  setDefaultCluster(id: string, cluster: string | null): Promise<Account>
  /**
   * Disables or enables an account. A disabled account keeps its content. Its requests fail with `account_disabled`.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last enabled owner
   */
  setDisabled(id: string, disabled: boolean): Promise<Account>
  /**
   * Changes the email, the name or both. An empty name removes the name.
   *
   * @throws HoldfastError `VALIDATION` naming the field, `CONFLICT` if another account has the email, `NOT_FOUND`
   */
  setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account>
  /**
   * Sets the password, and ends all sessions of the account except the session `keep`.
   *
   * @param options `field` is the name of the password in errors; default `password`
   * @throws HoldfastError `VALIDATION` for an invalid password, `NOT_FOUND`
   */
  setPassword(id: string, password: string, options?: { keep?: string | null; field?: string }): Promise<void>
  /**
   * Deletes an account. When the promise resolves, the account is unusable and its email is free. A running engine then
   * removes keys, sessions and pins in the background; otherwise the next start does.
   *
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last enabled owner
   */
  delete(id: string): Promise<void>
}
