import { expect } from 'vitest'

/**
 * Returns the message of an expected `UNAVAILABLE` error. Checks that it is shorter than `longest` and reveals no
 * secrets.
 */
export async function refusalOf(done: Promise<unknown>, longest: number): Promise<string> {
  const failure: unknown = await done.then(
    () => 'it was believed',
    (thrown: unknown) => thrown,
  )
  expect(failure).toMatchObject({ code: 'UNAVAILABLE' })
  const { message } = failure as Error
  expect(message).not.toContain('never-to-be-told')
  expect(message.length).toBeLessThan(longest)
  return message
}
