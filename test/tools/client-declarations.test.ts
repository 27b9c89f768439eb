import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withInterfaces } from '../../tools/client-declarations.ts'
import { SETTINGS, type TypeSettings, typeProblems } from '../support/type-check.ts'

const CLIENT = join(import.meta.dirname, '../../adapters/client')
const names = readdirSync(CLIENT)
const sources = new Map(names.map(name => [name, readFileSync(join(CLIENT, name), 'utf8')]))
const written = await withInterfaces(sources)

test('names no schema in the declarations of the client', () => {
  const naming = [...written]
    .filter(([, text]) => /typebox|src\/(contract|features)\//.test(text))
    .map(([name]) => name)
  expect(naming).toEqual([])
  expect(written.get('account-answers.ts')).toContain(
    'export interface SessionRow {\n    id: string;\n    /** UTC with milliseconds. */\n    createdAt: string;\n',
  )
  expect(written.get('owner-answers.ts')).toMatch(/^import type \{ \w+ \} from '\.\/account-answers\.ts';\n/)
})

test('writes the types that the schemas infer', () => {
  const types = [...sources.values()].flatMap(text =>
    [...text.matchAll(/export type (\w+) = Static</g)].map(([, name]) => name),
  )
  const text = [...written.values()]
    .flatMap(text => text.match(/^export interface \w+ \{\n(?: {4}.*\n)+\}|^export type \w+ = .*;$/gm) ?? [])
    .join('\n')
  const equal = types.map(name => `export const of${name}: Same<client.${name}, written.${name}> = true`)
  expect(types.length).toBeGreaterThan(30)
  const files = [
    { name: 'written.ts', text: `interface PendingNode {}\n${text}` },
    {
      name: 'same.ts',
      text: [
        "import type * as client from 'holdfast/client'",
        'import type * as written from "./written.ts"',
        'type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false',
        ...equal,
      ].join('\n'),
    },
  ]
  expect(typeProblems(files, SETTINGS.nodenext as TypeSettings)).toBe('')
})
