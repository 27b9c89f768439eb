import { parseArgs } from 'node:util'

export interface BenchCommand {
  /** In the order asked for, each once. */
  names: string[]
  quick: boolean
  json: boolean
  help: boolean
  /** Where the temporary directory goes; unset for the checkout's own. */
  dir: string | undefined
}

/** Wrong usage; the message is one line for the person who typed it. */
export class UsageError extends Error {}

/** @throws UsageError naming the unknown bench or flag. */
export function parseCommand(args: readonly string[], known: readonly string[]): BenchCommand {
  const { values, positionals } = parse(args)
  for (const name of positionals) {
    if (!known.includes(name)) throw new UsageError(`unknown bench "${name}"; there are: ${known.join(', ')}`)
  }
  return {
    names: positionals.length === 0 ? [...known] : [...new Set(positionals)],
    quick: values.quick,
    json: values.json,
    help: values.help,
    dir: values.dir,
  }
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
      },
    })
  } catch (error) {
    const [sentence = ''] = error instanceof Error ? error.message.split(/\.\s|\n/) : []
    throw new UsageError(`${sentence}; try --help`)
  }
}
