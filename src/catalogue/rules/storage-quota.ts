import type { PinLimits } from '../records.ts'

/** Returns why an account may not store more, in the words of every refusal. */
export function overStorage({
  maxStorageBytes,
  undeletedBytes = 0,
}: Omit<PinLimits, 'maxPins' | 'maxQueuedPins'>): string {
  const allowed = `the plan allows ${(maxStorageBytes ?? 0) + undeletedBytes} bytes of storage`
  if (undeletedBytes === 0) return allowed
  return `${allowed}. While a backup or a set-back stops deletion, ${undeletedBytes} bytes that were deleted count too`
}
