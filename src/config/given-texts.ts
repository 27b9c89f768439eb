import { HoldfastError } from '../domain/errors.ts'
import { UNKEPT, unkeptIn } from '../domain/text.ts'

/** Throws a HoldfastError `VALIDATION` with the name of the field. */
export function checkTexts(given: unknown, field: string): void {
  const refused = unkeptIn(given, field)
  if (refused !== null) throw new HoldfastError('VALIDATION', `${refused} ${UNKEPT}`)
}

const AsyncGeneratorFunction = Object.getPrototypeOf(async function* () {}).constructor as new () => object

/**
 * Wraps a service so that each method first checks the texts in its arguments, as HTTP requests do. For an invalid
 * text, the method rejects with `VALIDATION`, or throws if it returns an async generator. A method with an array
 * argument must check the array's elements itself.
 */
export function checkingTexts<T extends object>(service: T): T {
  return new Proxy(service, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target)
      if (typeof method !== 'function') return method
      return (...given: unknown[]): unknown => {
        try {
          for (const [i, one] of given.entries()) {
            const field = typeof one === 'string' ? `argument ${i + 1} of ${String(name)}` : ''
            if (!Array.isArray(one)) checkTexts(one, field)
          }
        } catch (error) {
          if (method instanceof AsyncGeneratorFunction) throw error
          return Promise.reject(error)
        }
        return Reflect.apply(method, target, given)
      }
    },
  })
}
