import { HoldfastError } from '../domain/errors.ts'
import { unknownKeys } from '../domain/near-names.ts'
import { checkTexts } from './given-texts.ts'

/** Names of all fields of an options object. A field that is itself an options object has the names of its fields. */
export type Fields<Options> = Readonly<Record<keyof Options, true | AnyFields>>

interface AnyFields {
  readonly [name: string]: true | AnyFields
}

/** Fields of the options of each method of a service, by the position of the argument. */
export type CallFields<Service> = Readonly<Record<keyof Service, Readonly<Record<number, AnyFields>>>>

/** Throws a HoldfastError `VALIDATION` with the name of an unknown field. */
function checkFields(given: unknown, known: AnyFields, where: string): void {
  if (typeof given !== 'object' || given === null) return
  const unknown = Object.keys(given).filter(name => !Object.hasOwn(known, name))
  if (unknown.length > 0) throw new HoldfastError('VALIDATION', `${where}: ${unknownKeys(unknown, Object.keys(known))}`)
  for (const [name, inner] of Object.entries(known)) {
    if (inner !== true) checkFields(Reflect.get(given, name), inner, `${where}: ${name}`)
  }
}

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor as new () => object

/**
 * Wraps a service so that each method first checks the texts in its arguments, as HTTP requests do, and the names of
 * its options. For an invalid argument, the method rejects with `VALIDATION`. A method throws instead if it returns an
 * async generator or is in `immediate`. A method with an array argument must check the array's elements itself.
 */
export function checkingCalls<T extends object>(
  service: T,
  calls: CallFields<T>,
  immediate: ReadonlyArray<keyof T> = [],
): T {
  return new Proxy(service, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      const positions = (Object.hasOwn(calls, name) ? Reflect.get(calls, name) : {}) as CallFields<T>[keyof T]
      return (...given: unknown[]): unknown => {
        try {
          for (const [i, one] of given.entries()) {
            const field = typeof one === 'string' ? `argument ${i + 1} of ${String(name)}` : ''
            if (!Array.isArray(one)) checkTexts(one, field)
            const fields = positions[i]
            if (fields !== undefined) checkFields(one, fields, String(name))
          }
        } catch (error) {
          if (method instanceof AsyncGeneratorFunction || immediate.some(one => one === name)) throw error
          return Promise.reject(error)
        }
        return Reflect.apply(method, target, given)
      }
    },
  })
}
