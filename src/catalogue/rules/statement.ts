export interface Fragment {
  readonly sqlite: string
  readonly postgres: string
}

/** SQL for one database, with parameter names in the order of their placeholders. */
export interface RenderedSql {
  readonly text: string
  readonly names: readonly string[]
}

/** SQLite stores flags as 0 or 1, and lists and objects as JSON text. */
type KindOf<T> = [T] extends [boolean]
  ? 'flag'
  : [T] extends [string | null]
    ? 'text'
    : [T] extends [number | null]
      ? 'integer'
      : [T] extends [Uint8Array | null]
        ? 'bytes'
        : 'json'

/** The kind of each field, with an SQL expression if the column is not named like the field in snake case. */
type Kinds<Row> = {
  readonly [Field in keyof Row]: KindOf<Row[Field]> | readonly [kind: KindOf<Row[Field]>, expression: Fragment | string]
}

export interface Columns<Row> {
  readonly kinds: Kinds<Row>
}

export interface RuleStatement<Row = unknown> {
  readonly sqlite: RenderedSql
  readonly postgres: RenderedSql
  /** Fields that SQLite returns in encoded form. */
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

/** Returns a piece of SQL with parameters in the form `:name`. */
export function fragment(strings: TemplateStringsArray, ...parts: ReadonlyArray<string | Fragment>): Fragment {
  return { sqlite: joined('sqlite', strings, parts), postgres: joined('postgres', strings, parts) }
}

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

export function columnNames(of: Columns<object>): string {
  return Object.keys(of.kinds).map(snakeCase).join(', ')
}

/** Returns parameters in the order of {@link columnNames}. */
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

/** @param isShared true if all occurrences of a parameter share one placeholder number */
function rendered(source: string, placeholder: (place: number) => string, isShared = false): RenderedSql {
  const names: string[] = []
  const text = source.replaceAll(/(?<!:):([a-z]\w*)/gi, (_, name: string) => {
    if (!isShared || !names.includes(name)) names.push(name)
    return placeholder(names.indexOf(name) + 1)
  })
  return { text, names }
}

/** Returns a `SELECT` list, for statements that only one of the databases has. */
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
