import { HoldfastError } from '../../src/domain/errors.ts'
import type { HoldfastClient } from '../client/index.ts'

/**
 * Returns the visibility of the flag `--private`. A server of an earlier version ignores it and makes the content public,
 * so nothing may be sent to it.
 *
 * @throws HoldfastError `NOT_OFFERED` for a server of an earlier version
 */
export async function privateOf(client: HoldfastClient, isPrivate: boolean): Promise<'private' | undefined> {
  if (!isPrivate) return undefined
  const { defaultVisibility } = await client.account.show()
  if (defaultVisibility !== undefined) return 'private'
  throw new HoldfastError('NOT_OFFERED', 'the server has no private content: its version is older than 0.4.0')
}
