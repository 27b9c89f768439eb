import type { KeptPromise } from './promises.ts'

const doctor = 'test/adapters/cli/doctor.test.ts'
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
  {
    promise: 'doctor sends no key of another server',
    file: 'adapters/cli/doctor-server.ts',
    find: "...(isOthers && { HOLDFAST_API_KEY: '' })",
    replace: '',
    test: { file: doctor, name: 'gets no key that the environment' },
  },
  {
    promise: 'doctor tries no port 0',
    file: 'adapters/cli/doctor-ports.ts',
    find: "if (port === 0) return fine(check, 'the start takes any free port')",
    replace: '',
    test: { file: doctor, name: 'are free, or name what has them' },
  },
  {
    promise: 'doctor refuses a newer data directory',
    file: 'adapters/cli/doctor-disk.ts',
    find: 'if (version > newest) {',
    replace: 'if (version < 0) {',
    test: { file: doctor, name: 'is judged by its contents' },
  },
  {
    promise: 'doctor reports a disk without room',
    file: 'adapters/cli/doctor-disk.ts',
    find: 'if (free <= reserve)',
    replace: 'if (free < 0)',
    test: { file: doctor, name: 'needs room beyond the reserve' },
  },
]
