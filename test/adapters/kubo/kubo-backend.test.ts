import { describe, test } from 'vitest'
import { backendRules } from '../../clusters/backend.suite.ts'
import { onReal, onRealKubo, onRecorded, onReplay, underTest, withBackend } from './kubo-under-test.ts'

for (const [name, on, options] of [
  ['a real Kubo', onReal, onRealKubo],
  ['what a Kubo has answered', onReplay, onRecorded],
] as const) {
  describe(`cluster backend: ${name}`, options, () => {
    test.each(backendRules)('$name', async ({ name, run }) => {
      await on(name, places => withBackend(places, backend => run(underTest(backend, places))))
    })
  })
}
