/** A piece of SQL for both databases. The two texts differ only where the SQL dialects differ. */
export interface Fragment {
  readonly sqlite: string
  readonly postgres: string
}

/** SQL for one database, and the names of its parameters in the order of their placeholders. */
export interface RenderedSql {
  readonly text: string
  readonly names: readonly string[]
}

/** How a column is stored. SQLite stores flags as 0 or 1, and lists and objects as JSON text. */
type KindOf<T> = [T] extends [boolean]
  ? 'flag'
  : [T] extends [string | null]
    ? 'text'
    : [T] extends [number | null]
      ? 'integer'
      : [T] extends [Uint8Array | null]
        ? 'bytes'
        : 'json'

/**
 * The kind of each field. A field also has an SQL expression if its column is not named like the field in snake case.
 */
type Kinds<Row> = {
  readonly [Field in keyof Row]: KindOf<Row[Field]> | readonly [kind: KindOf<Row[Field]>, expression: Fragment | string]
}

/** The columns or expressions from which the fields of a row type are read. */
export interface Columns<Row> {
  readonly kinds: Kinds<Row>
}

/** One statement of a rule, rendered for both databases. Each statement is a constant of its module. */
export interface RuleStatement<Row = unknown> {
  readonly sqlite: RenderedSql
  readonly postgres: RenderedSql
  /** Fields whose values SQLite returns in encoded form, and which must be decoded. */
  readonly encoded: ReadonlyArray<readonly [field: string, kind: 'flag' | 'json']>
  /** True if the statement stores its parameters; false if it only compares them. */
  readonly stores: boolean
  /** Never set. The field only carries the type of a row. */
  readonly row?: Row
}

const known: RuleStatement[] = []

/** Returns every statement of the loaded rules, for the tests of query plans. */
export function knownStatements(): readonly RuleStatement[] {
  return known
}

export function columns<Row>(kinds: Kinds<Row>): Columns<Row> {
  return { kinds }
}

/** Returns a piece of SQL for use in a statement. The text contains parameters in the form `:name`. */
export function fragment(strings: TemplateStringsArray, ...parts: ReadonlyArray<string | Fragment>): Fragment {
  return { sqlite: joined('sqlite', strings, parts), postgres: joined('postgres', strings, parts) }
}

/** Returns a whole statement. `Columns` become a `SELECT` list and determine the type of the rows. */
export function sql<Row = unknown>(
  strings: TemplateStringsArray,
  ...parts: ReadonlyArray<string | Fragment | Columns<Row>>
): RuleStatement<Row> {
  const fragments = parts.map(part => (isColumns(part) ? selectList(part) : part))
  const statement = {
    sqlite: rendered(joined('sqlite', strings, fragments), () => '?'),
    postgres: rendered(joined('postgres', strings, fragments), place => `$${place}`, true),
    stores: /^\s*(INSERT|UPDATE)\b/.test(strings[0] ?? ''),
    encoded: parts.filter(isColumns).flatMap(encodedOf),
  }
  known.push(statement)
  return statement
}

/** Returns the names of columns as a list, for an `INSERT`. */
export function columnNames(of: Columns<object>): string {
  return Object.keys(of.kinds).map(snakeCase).join(', ')
}

/** Returns the parameters for columns as a list, in the order of {@link columnNames}. */
export function valuesOf(of: Columns<object>): string {
  return Object.keys(of.kinds)
    .map(field => `:${field}`)
    .join(', ')
}

function isColumns<Row>(part: string | Fragment | Columns<Row>): part is Columns<Row> {
  return typeof part === 'object' && 'kinds' in part
}

function joined(engine: keyof Fragment, strings: readonly string[], parts: ReadonlyArray<string | Fragment>): string {
  const text = (part: string | Fragment = ''): string => (typeof part === 'string' ? part : part[engine])
  return strings.map((string, i) => string + text(parts[i])).join('')
}

/**
 * Replaces the parameters with placeholders.
 *
 * @param isShared true if all occurrences of a parameter share one placeholder number
 */
function rendered(source: string, placeholder: (place: number) => string, isShared = false): RenderedSql {
  const names: string[] = []
  const text = source.replaceAll(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
    if (!isShared || !names.includes(name)) names.push(name)
    return placeholder(names.indexOf(name) + 1)
  })
  return { text, names }
}

/** Returns columns as a `SELECT` list. Used for statements that only one of the databases has. */
export function selectList<Row>({ kinds }: Columns<Row>): Fragment {
  const each = Object.entries<string | readonly [string, Fragment | string]>(kinds).map(([field, kind]) => {
    const expression = typeof kind === 'string' ? snakeCase(field) : kind[1]
    return expression === field ? fragment`${field}` : fragment`${expression} AS "${field}"`
  })
  return { sqlite: each.map(one => one.sqlite).join(', '), postgres: each.map(one => one.postgres).join(', ') }
}

function encodedOf({ kinds }: Columns<unknown>): Array<[string, 'flag' | 'json']> {
  return Object.entries<string | readonly [string, unknown]>(kinds).flatMap(([field, declared]) => {
    const kind = typeof declared === 'string' ? declared : declared[0]
    return kind === 'flag' || kind === 'json' ? [[field, kind] satisfies [string, 'flag' | 'json']] : []
  })
}

function snakeCase(field: string): string {
  return field.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}
