import type { GivenTo } from './all-commands.ts'
import { usageError } from './arguments.ts'
import { bashScript, fishScript, zshScript } from './completion-scripts.ts'
import { completionTable } from './completions.ts'
import { print } from './output.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** Prints the script that completes commands and flags in a shell. */
export async function completion(given: GivenTo<'completion'>): Promise<void> {
  const [shell = ''] = given.words
  if (!isShell(shell)) throw usageError(`the shell must be bash, zsh or fish, not ${shell}`)
  print(SCRIPTS[shell](completionTable()))
}

function isShell(name: string): name is keyof typeof SCRIPTS {
  return Object.hasOwn(SCRIPTS, name)
}
