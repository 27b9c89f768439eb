import type { Visibility } from '../../domain/visibility.ts'
import type { Account } from '../principal.ts'

/** Fields of a new account. */
export interface NewAccount {
  /** Unique on the node. Case is ignored. */
  email: string
  /** Name of a built-in or configured plan. */
  plan: string
  name?: string | null
  /** An account without a password cannot sign in and can only use API keys. */
  password?: string
  /** Default `user`. */
  role?: Account['role']
}

/** Token of a link that sets a password: `#/password?token=` of the console, in a fragment, which browsers do not send. */
export interface PasswordLink {
  token: string
  /** In ms since the epoch. */
  expiresAt: number
}

/** Manages accounts and their plans. A change is durable when its promise resolves. */
export interface Accounts {
  /**
   * Creates an account.
   * @throws HoldfastError `VALIDATION` for an unknown plan or an invalid email, name or password; `CONFLICT` if another
   * account uses the email
   * @example const { id } = await engine.accounts.create({ email: 'ada@example.org', plan: 'free' })
   */
  create(input: NewAccount): Promise<Account>
  /**
   * Returns the first owner, who operates the node. If there is no owner, creates one with the plan `unlimited`.
   * @example const { account } = await engine.accounts.ensureOwner()
   */
  ensureOwner(): Promise<{ account: Account; created: boolean }>
  /**
   * Returns an account by its id.
   * @throws HoldfastError `NOT_FOUND`
   * @example const { email } = await engine.accounts.get(account)
   */
  get(id: string): Promise<Account>
  /**
   * Returns an account by its id, or by its email in any case. Returns undefined if there is none.
   * @example const found = await engine.accounts.find('ada@example.org')
   */
  find(idOrEmail: string): Promise<Account | undefined>
  /**
   * Returns all accounts, oldest first. If there are many accounts, {@link Accounts.pages} needs less memory.
   * @example const accounts = await engine.accounts.list()
   */
  list(): Promise<Account[]>
  /**
   * Yields all accounts, oldest first, in pages of one thousand.
   * @example for await (const accounts of engine.accounts.pages()) console.log(accounts.length)
   */
  pages(): AsyncIterable<Account[]>
  /**
   * Returns up to `limit` accounts, oldest first, starting at the position `offset`. `total` counts all accounts.
   * @example const { accounts, total } = await engine.accounts.page(0, 20)
   */
  page(offset: number, limit: number): Promise<{ accounts: Account[]; total: number }>
  /**
   * Sets the plan.
   * @throws HoldfastError `VALIDATION` for an unknown plan, `NOT_FOUND` for an unknown account
   * @example await engine.accounts.setPlan(account, 'premium')
   */
  setPlan(id: string, plan: string): Promise<Account>
  /**
   * Sets the cluster for requests that do not name one. Null means the default cluster of the engine.
   * @throws HoldfastError `CLUSTER_NOT_ALLOWED` if no such cluster is configured, or if the plan does not allow it;
   * `NOT_FOUND`
   * @example await engine.accounts.setDefaultCluster(account, 'cl1-eu')
   */
  setDefaultCluster(id: string, cluster: string | null): Promise<Account>
  /**
   * Sets the visibility of later records whose request names none.
   * @throws HoldfastError `NOT_FOUND`, `VALIDATION`
   * @example await engine.accounts.setDefaultVisibility(account, 'private')
   */
  setDefaultVisibility(id: string, visibility: Visibility): Promise<Account>
  /**
   * Disables or enables an account. A disabled account keeps its content, but its requests fail with
   * `account_disabled`.
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last enabled owner
   * @example await engine.accounts.setDisabled(account, true)
   */
  setDisabled(id: string, disabled: boolean): Promise<Account>
  /**
   * Changes the email, the name or both. An empty name removes the name.
   * @throws HoldfastError `VALIDATION`, which names the field, `CONFLICT` if another account uses the email,
   * `NOT_FOUND`
   * @example await engine.accounts.setProfile(account, { name: 'Ada' })
   */
  setProfile(id: string, changes: { email?: string | undefined; name?: string | undefined }): Promise<Account>
  /**
   * Sets the password, and ends all sessions of the account except `keep`.
   * @param options.field name of the password field in error messages. Default `password`.
   * @throws HoldfastError `VALIDATION` for an invalid password, `NOT_FOUND`
   * @example await engine.accounts.setPassword(account, password)
   */
  setPassword(id: string, password: string, options?: { keep?: string | null; field?: string }): Promise<void>
  /**
   * Makes a link by which its holder sets the password of the account, once, within a day. It replaces the former link.
   * @throws HoldfastError `NOT_FOUND`
   * @example const { token } = await engine.accounts.makePasswordLink(account)
   */
  makePasswordLink(id: string): Promise<PasswordLink>
  /**
   * Lets a user of the sign-in provider sign in to an existing account, instead of the user before. Their groups then
   * decide its plan.
   * @throws HoldfastError `VALIDATION`, `NOT_FOUND`, `CONFLICT` for an owner, or a user who has another account
   * @example await engine.accounts.setIdentity(account, { issuer: 'https://id.example.org', subject: '8f14e45f' })
   */
  setIdentity(id: string, identity: { issuer: string; subject: string }): Promise<Account>
  /**
   * Deletes an account. When the promise resolves, the account is unusable and its email is free. A running engine, or
   * the next start, then removes keys, sessions and pins.
   * @throws HoldfastError `NOT_FOUND`, `CONFLICT` for the last enabled owner
   * @example await engine.accounts.delete(account)
   */
  delete(id: string): Promise<void>
}
