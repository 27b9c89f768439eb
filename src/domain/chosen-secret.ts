import { HoldfastError } from './errors.ts'

const SHORTEST = 32
const LONGEST = 1_024

/** Checks a key that an operator chose. @throws HoldfastError `VALIDATION` */
export function checkChosenSecret(secret: string): void {
  const isLong = secret.length >= SHORTEST && secret.length <= LONGEST
  if (isLong && secret.trim() === secret && /^[\x20-\x7e]+$/.test(secret)) return
  const length = `${SHORTEST} to ${LONGEST.toLocaleString('en')}`
  throw new HoldfastError('VALIDATION', `the key must have ${length} printable ASCII characters`)
}
