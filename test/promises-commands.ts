import type { KeptPromise } from './promises.ts'

const completion = 'test/adapters/cli/completion.test.ts'

/** Promises about completions and checks of the command line. */
export const commandPromises: readonly KeptPromise[] = [
  {
    promise: 'completions know the flags of the help',
    file: 'adapters/cli/completions.ts',
    find: '...flags.map(({ name, about }) => ({ name, about }))',
    replace: '',
    test: { file: completion, name: 'suggests after' },
  },
  {
    promise: 'a completion names files only for paths',
    file: 'adapters/cli/completion-scripts.ts',
    find: '&& compopt +o default',
    replace: '&& : +o default',
    test: { file: completion, name: 'allows paths only where one belongs' },
  },
]
