import { HoldfastError } from '../../src/index.ts'
import { descriptorLimit } from '../node-http/index.ts'

/** Minimum number of file descriptors. An idle server with four gateway threads has up to 80 descriptors open. */
const FEWEST_DESCRIPTORS = 96

/** Checks the limit of open files. @throws HoldfastError `CONFIG_INVALID` if the limit is too low for a server */
export function checkDescriptors(): void {
  const limit = descriptorLimit()
  if (limit >= FEWEST_DESCRIPTORS) return
  const remedy = 'raise it with ulimit -n, or with LimitNOFILE in a systemd unit'
  throw new HoldfastError(
    'CONFIG_INVALID',
    `the limit of open files is ${limit}, a server needs at least ${FEWEST_DESCRIPTORS}: ${remedy}`,
  )
}
