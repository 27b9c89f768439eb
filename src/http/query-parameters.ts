import { HoldfastError } from '../domain/errors.ts'

/** The query of a request. What nobody asks for is ignored; what is asked for may be there once. */
export class QueryParameters extends URLSearchParams {
  /** @throws HoldfastError `VALIDATION` if it is repeated: which of them was meant is anybody's guess. */
  override get(name: string): string | null {
    const values = this.getAll(name)
    if (values.length > 1) throw new HoldfastError('VALIDATION', `${name} is in the query ${values.length} times`)
    return values[0] ?? null
  }
}
