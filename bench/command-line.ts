import { parseArgs } from 'node:util'
import type { Scale } from './bench.ts'

export interface BenchCommand {
  /** Each once, in the given order; empty without arguments. */
  names: string[]
  size: Scale
  /** Undefined for the size's default. */
  rounds: number | undefined
  /** Undefined for all. */
  subjects: string[] | undefined
  save: string | undefined
  compare: string | undefined
  json: boolean
  help: boolean
  /** Parent of the temporary directory; by default data/ of the checkout. */
  dir: string | undefined
}

const ALL = 'all'
const SIZES: readonly Scale[] = ['full', 'quick', 'tiny']

export class UsageError extends Error {}

/** @throws UsageError that names an unknown bench or flag */
export function parseCommand(args: readonly string[], known: readonly string[]): BenchCommand {
  const { values, positionals } = parse(args)
  for (const name of positionals) {
    if (name !== ALL && !known.includes(name))
      throw new UsageError(`unknown bench "${name}"; there are: ${known.join(', ')}, ${ALL}`)
  }
  return {
    names: [...new Set(positionals.flatMap(name => (name === ALL ? known.filter(known => known !== 'table') : name)))],
    size: readSize(values.size ?? (values.quick ? 'quick' : 'full')),
    rounds: readRounds(values.rounds),
    subjects: values.subject,
    save: values.save,
    compare: values.compare,
    json: values.json,
    help: values.help,
    dir: values.dir,
  }
}

function readSize(text: string): Scale {
  const size = SIZES.find(known => known === text)
  if (size === undefined) throw new UsageError(`--size must be one of ${SIZES.join(', ')}`)
  return size
}

function readRounds(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d?$/.test(text)) throw new UsageError('--rounds must be a whole number from 1 to 99')
  return Number(text)
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        dir: { type: 'string' },
        size: { type: 'string' },
        rounds: { type: 'string' },
        subject: { type: 'string', multiple: true },
        save: { type: 'string' },
        compare: { type: 'string' },
      },
    })
  } catch (error) {
    const [sentence = ''] = error instanceof Error ? error.message.split(/\.\s|\n/) : []
    throw new UsageError(`${sentence}; try --help`)
  }
}
