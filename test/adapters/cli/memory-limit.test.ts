import { totalmem } from 'node:os'
import { describe, expect, test } from 'vitest'
import { memoryLimit } from '../../../adapters/cli/memory-limit.ts'
import { readServerSettings } from '../../../adapters/cli/settings.ts'

const limitIn = (files: Readonly<Record<string, string>>): number =>
  memoryLimit(path => {
    const text = files[path]
    if (text === undefined) throw new Error(`no such file: ${path}`)
    return text
  })

const MIB = 1024 ** 2

describe('the memory of the process', () => {
  test('is the limit of its group in version 2', () => {
    expect(limitIn({ '/proc/self/cgroup': '0::/a\n', '/sys/fs/cgroup/a/memory.max': `${256 * MIB}\n` })).toBe(256 * MIB)
  })

  test('is the lower limit of a parent', () => {
    const files = {
      '/proc/self/cgroup': '0::/a/b\n',
      '/sys/fs/cgroup/a/b/memory.max': 'max\n',
      '/sys/fs/cgroup/a/memory.max': `${384 * MIB}\n`,
    }
    expect(limitIn(files)).toBe(384 * MIB)
  })

  test('is the limit of a version 1 group or its root', () => {
    const groups = '5:cpu,cpuacct:/x\n4:memory:/docker/1\n0::/\n'
    const own = { '/proc/self/cgroup': groups, '/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes': `${64 * MIB}` }
    expect(limitIn(own)).toBe(64 * MIB)
    const root = { '/proc/self/cgroup': groups, '/sys/fs/cgroup/memory/memory.limit_in_bytes': `${96 * MIB}` }
    expect(limitIn(root)).toBe(96 * MIB)
  })

  test('is that of the machine without a limit', () => {
    const none = {
      '/proc/self/cgroup': '4:memory:/\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712',
    }
    expect(limitIn(none)).toBe(totalmem())
    expect(limitIn({})).toBe(totalmem())
  })

  test('is what the environment says, from 256 MiB on', () => {
    expect(readServerSettings({}, { HOLDFAST_MEMORY_BYTES: '268435456' }).memoryBytes).toBe(256 * MIB)
    const few = (): unknown => readServerSettings({}, { HOLDFAST_MEMORY_BYTES: '268435455' })
    expect(few).toThrow('HOLDFAST_MEMORY_BYTES must be a number of bytes, at least 268435456')
  })
})
