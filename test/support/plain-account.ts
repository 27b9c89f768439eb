/** Fields of the row of an account, without its id, email, plan and date. */
export const PLAIN_ACCOUNT = {
  name: null,
  role: 'user' as const,
  defaultCluster: null,
  disabled: false,
  owner: null,
  defaultVisibility: 'public' as const,
}
