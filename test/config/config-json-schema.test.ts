import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { serverAdapters } from '../../adapters/cli/server-adapters.ts'
import { configJsonSchema } from '../../src/config/config-json-schema.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The schema as an editor reads it. */
const schema = JSON.parse(JSON.stringify(configJsonSchema(serverAdapters.adapters))) as Record<string, unknown>
const kubo = { type: 'kubo', api: 'http://127.0.0.1:5001' }

/** Returns the configurations of the documents. */
function* documented(): Iterable<unknown> {
  const page = readFileSync(join(ROOT, 'docs/reference/configuration.md'), 'utf8')
  for (const [, json = ''] of page.matchAll(/```json\n(.*?)```/gs)) yield JSON.parse(json)
  for (const name of ['a', 'b']) {
    yield JSON.parse(readFileSync(join(ROOT, `examples/deploy/fleet/${name}.json`), 'utf8'))
  }
}

test('the schema accepts each documented configuration', () => {
  const all = [...documented()]
  expect(all.length).toBeGreaterThan(2)
  for (const config of all) expect([...Value.Errors(schema, config)]).toEqual([])
})

test.each([
  [{ $schema: './holdfast.schema.json' }, true],
  [{ clusters: [{ id: 'attic', backend: kubo }] }, true],
  [{ publicUrI: 'https://pins.example.org' }, false],
  [{ pin: { waitSeconds: '5' } }, false],
  [{ plans: { team: { maxPinz: 5 } } }, false],
  [{ clusters: [{ id: 'attic', backend: { type: 'tape' } }] }, false],
  [{ clusters: [{ id: 'attic', backend: { ...kubo, apii: 1 } }] }, false],
])('the schema judges %j', (config, isRight) => {
  expect(Value.Check(schema, config)).toBe(isRight)
})

test('the schema has no key of ours, and no link', () => {
  expect(JSON.stringify(schema)).not.toMatch(/defaultText|typeText|\.md/)
})
