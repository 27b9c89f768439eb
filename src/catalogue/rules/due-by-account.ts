/**
 * What is due of some accounts, in the order of their ids from the one after `after` on.
 *
 * @param next the account after another that has something in line, whether it is due or not
 * @param of what is due of an account
 * @returns also the last account looked at; null once there is none beyond
 */
export async function dueByAccount<Row>(
  { after, accounts }: { after: string; accounts: number },
  next: (after: string) => Promise<{ accountId: string } | null | undefined>,
  of: (accountId: string) => Promise<Row[]>,
): Promise<{ jobs: Row[]; last: string | null }> {
  const jobs: Row[] = []
  let last = after
  for (let looked = 0; looked < accounts; looked++) {
    const account = await next(last)
    if (account === undefined || account === null) return { jobs, last: null }
    last = account.accountId
    jobs.push(...(await of(last)))
  }
  return { jobs, last }
}
