import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, expectTypeOf, test } from 'vitest'
import type {
  Accounts,
  ClusterBackend,
  ClusterRegistry,
  Content,
  Engine,
  Keys,
  PinService,
  SecondFactors,
  Sessions,
  TakedownList,
} from '../src/index.ts'

/** Methods that return no promise, computed by the compiler. */
type SyncMethods<T> = {
  [Name in keyof T]-?: T[Name] extends (...args: never[]) => infer Result
    ? Result extends PromiseLike<unknown> | AsyncIterable<unknown>
      ? never
      : Name
    : never
}[keyof T]

test('every method of the public API returns a promise', () => {
  expectTypeOf<SyncMethods<Content>>().toBeNever()
  expectTypeOf<SyncMethods<PinService>>().toBeNever()
  expectTypeOf<SyncMethods<ClusterRegistry>>().toBeNever()
  expectTypeOf<SyncMethods<ClusterBackend>>().toBeNever()
  expectTypeOf<SyncMethods<Accounts>>().toBeNever()
  expectTypeOf<SyncMethods<Keys>>().toBeNever()
  expectTypeOf<SyncMethods<Sessions>>().toBeNever()
  expectTypeOf<SyncMethods<SecondFactors>>().toBeNever()
  expectTypeOf<SyncMethods<TakedownList>>().toBeNever()
  // Both only read headers and the configuration, before a request is processed.
  expectTypeOf<SyncMethods<Engine>>().toEqualTypeOf<'documentsAt' | 'isContentHost'>()
})

test('exported classes can be made without an engine', () => {
  const report = readFileSync(join(import.meta.dirname, '../docs/api/holdfast.api.md'), 'utf8')
  const classes = [...report.matchAll(/^export (?:abstract )?class (\w+)/gm)].map(([, name]) => name)
  expect(classes).toEqual(['HoldfastError', 'RateLimiter', 'ScopePolicy', 'Timelock'])
})

test('the API report names few packages, and none of libp2p', () => {
  const report = readFileSync(join(import.meta.dirname, '../docs/api/holdfast.api.md'), 'utf8')
  const modules = [...report.matchAll(/^import .* from '([^']+)'/gm)].map(([, name = '']) => name)
  const { node: builtIn = [], package: packages = [] } = Object.groupBy(modules, name =>
    name.startsWith('node:') ? 'node' : 'package',
  )
  expect(packages.toSorted()).toEqual(['interface-blockstore', 'interface-datastore', 'multiformats/cid'])
  expect(builtIn).toEqual(['node:worker_threads'])
})
