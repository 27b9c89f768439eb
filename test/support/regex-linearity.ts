/**
 * Returns the reasons why a regular expression might take more than linear time in a backtracking engine. An expression
 * without reasons is linear; one with reasons may still be.
 *
 * It refuses three shapes:
 * - a repetition inside a repetition
 * - alternatives inside a repetition that can begin with the same character
 * - two repetitions that share a character, with nothing between to separate them, if the rest can fail
 *
 * An unanchored search counts as a repetition of any character in front.
 */
export function superlinear(source: string, flags: string): string[] {
  const problems: string[] = []
  const tree = new Parser(source, flags).parse()
  const anchored = flags.includes('y') || (!flags.includes('m') && tree.every(way => way[0]?.kind === 'start'))
  for (const way of tree) {
    nested(way, problems)
    for (const flat of flatten(way)) {
      const steps: Step[] = anchored ? flat : [{ set: null, min: 0, many: true, text: 'the search' }, ...flat]
      touching(steps, problems)
    }
  }
  return [...new Set(problems)]
}

/** Bounded repetitions above this count as unbounded. */
const FEW = 100
/** Characters used to compare character sets. */
const SAMPLE = [
  ...Array.from({ length: 0x180 }, (_, code) => String.fromCodePoint(code)),
  '\u2028',
  '\ud800',
  '中',
  '😀',
]
const MOST_WAYS = 4_096

type CharSet = ReadonlySet<string>
interface Quantity {
  min: number
  many: boolean
  skipped?: boolean
}
type Node =
  | ({ kind: 'char'; set: CharSet; text: string } & Quantity)
  | ({ kind: 'group'; ways: Node[][]; text: string } & Quantity)
  /** Consumes no characters, and can fail. */
  | { kind: 'assert' | 'start' }
/** One step of an alternative after groups are expanded. A `set` of null matches any character. */
type Step = ({ set: CharSet | null; text: string } & Quantity) | 'assert'

class Parser {
  readonly #source: string
  readonly #flags: string
  #at = 0

  constructor(source: string, flags: string) {
    this.#source = source
    this.#flags = flags.replaceAll(/[gyd]/g, '')
  }

  parse(): Node[][] {
    const ways = this.#ways()
    if (this.#at < this.#source.length) throw new Error(`cannot read /${this.#source}/ from ${this.#at}`)
    return ways
  }

  #ways(): Node[][] {
    const ways: Node[][] = [[]]
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        this.#at++
        ways.push([])
      } else ways.at(-1)?.push(this.#quantified())
    }
    return ways
  }

  #quantified(): Node {
    const start = this.#at
    const atom = this.#atom()
    const [text = '', least, comma, most] =
      /^(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/.exec(this.#source.slice(this.#at)) ?? []
    if (text === '' || !('min' in atom)) return atom
    this.#at += text.length
    const sign = text[0]
    const max =
      sign === '?'
        ? 1
        : sign !== '{'
          ? Number.POSITIVE_INFINITY
          : comma === undefined
            ? Number(least)
            : most === ''
              ? Number.POSITIVE_INFINITY
              : Number(most)
    const min = sign === '+' ? 1 : sign === '{' ? Number(least) : 0
    return { ...atom, min, many: max > FEW, text: this.#source.slice(start, this.#at) }
  }

  #atom(): Node {
    const rest = this.#source.slice(this.#at)
    const start = this.#at
    const simple = /^(?:\^|\$|\\[bB])/.exec(rest)
    if (simple !== null) {
      this.#at += simple[0].length
      return { kind: simple[0] === '^' ? 'start' : 'assert' }
    }
    const opening = /^\((?:\?(?::|<?[=!]|<\w+>))?/.exec(rest)
    if (opening !== null) {
      this.#at += opening[0].length
      const ways = this.#ways()
      this.#at++
      if (/^\(\?<?[=!]/.test(opening[0])) return { kind: 'assert' }
      return { kind: 'group', ways, min: 1, many: false, text: this.#source.slice(start, this.#at) }
    }
    const char =
      /^(?:\[(?:\\.|[^\]\\])*\]|\\(?:u\{[^}]+\}|u[\da-f]{4}|x[\da-f]{2}|[pP]\{[^}]+\}|[1-9k]|.)|[^\\])/isu.exec(rest)
    if (char === null || /^\\[1-9k]/.test(char[0])) throw new Error(`cannot read /${this.#source}/ from ${this.#at}`)
    this.#at += char[0].length
    const one = new RegExp(`^${char[0]}$`, this.#flags)
    return { kind: 'char', set: new Set(SAMPLE.filter(text => one.test(text))), min: 1, many: false, text: char[0] }
  }
}

function nested(way: readonly Node[], problems: string[]): void {
  for (const node of way) {
    if (node.kind !== 'group') continue
    if (node.many) {
      if (node.ways.some(hasRepetition)) problems.push(`${node.text}: a repetition within a repetition`)
      const firsts = node.ways.map(firstOf)
      const clash = firsts.some((first, i) => firsts.some((other, j) => i < j && common(first, other).size > 0))
      if (clash) problems.push(`${node.text}: alternatives that begin alike`)
    }
    for (const inner of node.ways) nested(inner, problems)
  }
}

function hasRepetition(way: readonly Node[]): boolean {
  return way.some(node => 'many' in node && (node.many || (node.kind === 'group' && node.ways.some(hasRepetition))))
}

function firstOf(way: readonly Node[]): Set<string> {
  const first = new Set<string>()
  for (const node of way) {
    if (!('min' in node)) continue
    const own = node.kind === 'char' ? [node.set] : node.ways.map(firstOf)
    for (const set of own) for (const char of set) first.add(char)
    if (node.min > 0) break
  }
  return first
}

/** Expands the groups of a sequence into all its alternatives. Everything in a repeated group counts as repeated. */
function flatten(way: readonly Node[]): Step[][] {
  let ways: Step[][] = [[]]
  for (const node of way) {
    const next = waysThrough(node)
    ways = ways.flatMap(before => next.map(after => [...before, ...after]))
    if (ways.length > MOST_WAYS) throw new Error('too many ways through the expression')
  }
  return ways
}

function waysThrough(node: Node): Step[][] {
  if (node.kind === 'char') return [[node]]
  if (node.kind !== 'group') return [['assert']]
  const ways = node.ways.flatMap(flatten)
  if (!node.many && node.min === 0) return [...ways.map(steps => steps.map(optional)), []]
  if (!node.many) return ways
  return ways.map(steps => steps.map(step => (step === 'assert' ? step : repeated(step, node))))
}

function optional(step: Step): Step {
  return step === 'assert' ? step : { ...step, skipped: true }
}

function repeated(step: Exclude<Step, 'assert'>, { min, many }: Quantity): Step {
  return { ...step, min: Math.min(step.min, min), many: step.many || many }
}

function touching(steps: readonly Step[], problems: string[]): void {
  for (const [i, first] of steps.entries()) {
    if (first === 'assert' || !first.many) continue
    for (let j = i + 1; j < steps.length; j++) {
      const second = steps[j]
      if (second === undefined || second === 'assert') continue
      const shared = intersection(first.set, second.set)
      if (shared !== null && shared.size === 0) {
        if (second.min > 0) break
        continue
      }
      // For the unanchored search, a step in between separates the two only if the second repetition cannot match it.
      const apart = steps.slice(i + 1, j).some(step => {
        if (step === 'assert' || step.min === 0) return false
        const shared = intersection(step.set, second.set)
        return shared !== null && shared.size === 0
      })
      if (second.many && !apart && canFail(steps.slice(j + 1))) {
        problems.push(`${first.text} and ${second.text} can share what they take`)
      }
    }
  }
}

function intersection(a: CharSet | null, b: CharSet | null): CharSet | null {
  if (a === null) return b
  return b === null ? a : common(a, b)
}

function common(a: CharSet, b: CharSet): CharSet {
  return new Set([...a].filter(char => b.has(char)))
}

function canFail(steps: readonly Step[]): boolean {
  return steps.some(step => step === 'assert' || (step.min > 0 && step.skipped !== true))
}
