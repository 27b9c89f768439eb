import { expect } from 'vitest'

/** Why something has failed with `UNAVAILABLE`, in fewer characters than `longest`, and without what nobody is to be told. */
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
