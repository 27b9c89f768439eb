import { checkTexts } from '../config/given-texts.ts'
import { HoldfastError } from '../domain/errors.ts'

/** The query of a request. What nobody asks for is ignored; what is asked for may be there once. */
export class QueryParameters extends URLSearchParams {
  /** @throws HoldfastError `VALIDATION` for what no catalogue keeps, and if it is repeated: any of them may be meant. */
  override get(name: string): string | null {
    const values = this.getAll(name)
    if (values.length > 1) throw new HoldfastError('VALIDATION', `${name} is in the query ${values.length} times`)
    const [value = null] = values
    checkTexts(value, `${name} in the query`)
    return value
  }
}
