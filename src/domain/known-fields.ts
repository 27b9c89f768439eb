import { HoldfastError } from './errors.ts'
import { unknownKeys } from './near-names.ts'

/** Names of all fields of an options object. A field that is itself an options object has the names of its fields. */
export type Fields<Options> = Readonly<Record<keyof Options, true | AnyFields>>

interface AnyFields {
  readonly [name: string]: true | AnyFields
}

/** Fields of the options of each method of a service, by the position of the argument. */
export type CallFields<Service> = Readonly<Record<keyof Service, Readonly<Record<number, AnyFields>>>>

/** How a service checks its calls. */
interface CallChecks<Service> {
  /** Methods that throw instead of rejecting. */
  immediate?: ReadonlyArray<keyof Service>
  /** Checks an argument before its fields. */
  check?: (argument: unknown, position: number, method: string) => void
}

/** Throws a HoldfastError `VALIDATION` with the name of an unknown field, and the name that was probably meant. */
export function checkFields(given: unknown, known: AnyFields, where: string): void {
  if (typeof given !== 'object' || given === null) return
  const unknown = Object.keys(given).filter(name => !Object.hasOwn(known, name))
  if (unknown.length > 0) throw new HoldfastError('VALIDATION', `${where}: ${unknownKeys(unknown, Object.keys(known))}`)
  for (const [name, inner] of Object.entries(known)) {
    if (inner !== true) checkFields(Reflect.get(given, name), inner, `${where}: ${name}`)
  }
}

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor as new () => object

/**
 * Wraps a service so that each method first checks the names of its options. For an invalid argument, the method
 * rejects with `VALIDATION`. A method throws instead if it returns an async generator or is in `immediate`.
 */
export function checkingFields<T extends object>(
  service: T,
  calls: CallFields<T>,
  { immediate = [], check }: CallChecks<T> = {},
): T {
  return new Proxy(service, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      const positions = (Object.hasOwn(calls, name) ? Reflect.get(calls, name) : {}) as CallFields<T>[keyof T]
      return (...given: unknown[]): unknown => {
        try {
          for (const [i, one] of given.entries()) {
            check?.(one, i, String(name))
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
