import { useSession } from '../session.ts'
import { useLoad } from '../widgets/use-load.ts'

const MOST_NAMES = 1_000

/** Returns a function that maps the id of an account to its email, or to itself if the email is unknown. */
export function useAccountNames(): (id: string) => string {
  const { client } = useSession()
  const { value } = useLoad(signal => client.owner.accounts({ limit: MOST_NAMES, signal }), [client])
  return id => value?.accounts.find(account => account.id === id)?.email ?? id
}
