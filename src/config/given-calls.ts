import { type CallFields, checkingFields } from '../domain/known-fields.ts'
import { checkTexts } from './given-texts.ts'

/**
 * Wraps a service so that each method first checks the texts in its arguments, as HTTP requests do, and the names of
 * its options ({@link checkingFields}). A method with an array argument must check the array's elements itself.
 */
export function checkingCalls<T extends object>(
  service: T,
  calls: CallFields,
  immediate: ReadonlyArray<keyof T> = [],
): T {
  const check = (argument: unknown, position: number, method: string): void => {
    if (Array.isArray(argument)) return
    checkTexts(argument, typeof argument === 'string' ? `argument ${position + 1} of ${method}` : '')
  }
  return checkingFields(service, calls, { immediate, check })
}
