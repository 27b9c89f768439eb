import { HoldfastError } from './errors.ts'
import { unknownKeys } from './near-names.ts'

/**
 * Names of all fields of an options object, with a space between them. A field of nested options is a path, such as
 * `range.start`.
 */
type FieldNames = string

/** Fields of the options of each method of a service, by the method and the position of the argument: `upload.1`. */
export type CallFields = Readonly<Record<string, FieldNames>>

/** Known fields by name. A field that is itself an options object has its own known fields, any other has none. */
interface Fields {
  readonly [name: string]: Fields
}

/** How a service checks its calls. */
interface CallChecks<Service> {
  /** Methods that throw instead of rejecting. */
  immediate?: ReadonlyArray<keyof Service>
  /** Checks an argument before its fields. */
  check?: (argument: unknown, position: number, method: string) => void
}

/** Throws a HoldfastError `VALIDATION` with the name of an unknown field, and the name that was probably meant. */
export function checkFields(given: unknown, known: FieldNames, where: string): void {
  check(given, fieldsOf(known), where)
}

function fieldsOf(names: FieldNames): Fields {
  const fields: Record<string, Record<string, Fields>> = {}
  for (const path of names.split(' ')) {
    const [name = '', inner] = path.split('.')
    fields[name] ??= {}
    if (inner !== undefined) fields[name][inner] = {}
  }
  return fields
}

function check(given: unknown, known: Fields, where: string): void {
  if (typeof given !== 'object' || given === null) return
  const unknown = Object.keys(given).filter(name => !Object.hasOwn(known, name))
  if (unknown.length > 0) throw new HoldfastError('VALIDATION', `${where}: ${unknownKeys(unknown, Object.keys(known))}`)
  for (const [name, inner] of Object.entries(known)) {
    if (Object.keys(inner).length > 0) check(Reflect.get(given, name), inner, `${where}: ${name}`)
  }
}

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor as new () => object

/**
 * Wraps a service so that each method first checks the names of its options. For an invalid argument, the method
 * rejects with `VALIDATION`. A method throws instead if it returns an async generator or is in `immediate`.
 */
export function checkingFields<T extends object>(
  service: T,
  calls: CallFields,
  { immediate = [], check: checkArgument }: CallChecks<T> = {},
): T {
  const known = new Map(Object.entries(calls).map(([argument, names]) => [argument, fieldsOf(names)]))
  return new Proxy(service, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...given: unknown[]): unknown => {
        try {
          for (const [i, one] of given.entries()) {
            checkArgument?.(one, i, String(name))
            const fields = known.get(`${String(name)}.${i}`)
            if (fields !== undefined) check(one, fields, String(name))
          }
          return Reflect.apply(method, target, given)
        } catch (error) {
          if (method instanceof AsyncGeneratorFunction || immediate.some(one => one === name)) throw error
          return Promise.reject(error)
        }
      }
    },
  })
}
