import { HoldfastError } from '../../src/domain/errors.ts'
import type { HoldfastClient, Upload } from '../client/index.ts'
import { usageError } from './arguments.ts'

/**
 * Returns the visibility of the flags `--private` and `--public`, or undefined for the account's default. Throws the
 * error of {@link visibilityOf}, and a usage error if both flags are given.
 */
export async function flaggedVisibility(
  client: HoldfastClient,
  flags: { private: boolean; public: boolean },
): Promise<Upload['visibility'] | undefined> {
  if (flags.private && flags.public) throw usageError('use only one of --private and --public')
  // A server of an earlier version makes all content public, so it needs no check.
  if (flags.public) return 'public'
  return visibilityOf(client, flags.private ? 'private' : undefined)
}

/**
 * Returns the visibility that a flag names. A server of an earlier version ignores it: it makes the content public, and
 * selects all pins. So nothing may be sent to it.
 *
 * @throws HoldfastError `NOT_OFFERED` for a server of an earlier version
 */
export async function visibilityOf(
  client: HoldfastClient,
  word: string | undefined,
): Promise<Upload['visibility'] | undefined> {
  if (word === undefined) return undefined
  const { defaultVisibility } = await client.account.show()
  // The server names an unknown word.
  if (defaultVisibility !== undefined) return word as Upload['visibility']
  throw new HoldfastError('NOT_OFFERED', 'the server has no private content: its version is older than 0.4.0')
}
