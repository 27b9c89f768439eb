/** Length of a text, in characters, from which on it counts as the beginning of a name. */
const SHORTEST_BEGINNING = 3

/**
 * Returns the name that the user probably meant: at most two edits away, and fewer edits than half of the letters. If no
 * name is so near, returns the only one that begins with the text.
 */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const most = Math.min(2, Math.floor((typed.length - 1) / 2))
  const ranked = names
    // The difference in length is the least number of edits. A long text costs no comparison.
    .filter(name => Math.abs(name.length - typed.length) <= most)
    .map(name => ({ name, steps: distance(typed, name) }))
    .filter(({ steps }) => steps <= most)
    .sort((a, b) => a.steps - b.steps)
  const longer = typed.length < SHORTEST_BEGINNING ? [] : names.filter(name => name.startsWith(typed))
  return ranked[0]?.name ?? (longer.length === 1 ? longer[0] : undefined)
}

/** Returns the problem of keys that an object must not have, with the name that the caller probably meant. */
export function unknownKeys([key = '', ...others]: readonly string[], names: readonly string[]): string {
  if (others.length > 0) return `unknown keys ${[key, ...others].join(', ')}`
  return `unknown key ${key}${suggestion(key, names)}`
}

/** Returns `, did you mean NAME?` for the name that the user probably meant, or nothing. */
export function suggestion(typed: string, names: readonly string[], prefix = ''): string {
  const near = nearestName(typed, names)
  return near === undefined ? '' : `, did you mean ${prefix}${near}?`
}

/** Counts edits. An edit inserts, deletes or replaces a letter, or swaps two neighbours. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1] ? 0 : 1
      const steps = [at(above, column) + 1, at(current, column - 1) + 1, at(above, column - 1) + same]
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) steps.push(at(before, column - 2) + 1)
      current.push(Math.min(...steps))
    }
    before = above
    above = current
  }
  return at(above, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
