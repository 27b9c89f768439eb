import { checkTexts } from '../config/given-texts.ts'
import { HoldfastError } from '../domain/errors.ts'

/** The query of a request. Unknown parameters are ignored. Known ones must not repeat. */
export class QueryParameters extends URLSearchParams {
  /**
   * Returns a parameter, or null.
   *
   * @throws HoldfastError `VALIDATION` if it repeats or has characters that no catalogue stores
   */
  override get(name: string): string | null {
    const values = this.getAll(name)
    if (values.length > 1) throw new HoldfastError('VALIDATION', `${name} is in the query ${values.length} times`)
    const [value = null] = values
    checkTexts(value, `${name} in the query`)
    return value
  }
}
