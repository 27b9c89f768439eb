import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

const CGROUPS = '/proc/self/cgroup'
const MOUNT = '/sys/fs/cgroup'

/**
 * Returns the memory in bytes that this process may use: the lowest limit of its control groups, or the machine's
 * memory if that is lower.
 */
export function memoryLimit(read: (path: string) => string = path => readFileSync(path, 'utf8')): number {
  let lowest = totalmem()
  for (const path of limitFiles(read)) {
    const limit = Number(textOf(read, path))
    // Without a limit, version 2 of control groups reports "max". Version 1 reports a number larger than any memory.
    if (limit > 0) lowest = Math.min(lowest, limit)
  }
  return lowest
}

/** Lists the memory limit files of the process's control groups and of their parents. */
function limitFiles(read: (path: string) => string): string[] {
  return textOf(read, CGROUPS)
    .split('\n')
    .flatMap(line => {
      const [, controllers, group] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? []
      if (group === undefined || controllers === undefined) return []
      if (controllers === '') return lineage(group).map(path => join(MOUNT, path, 'memory.max'))
      if (!controllers.split(',').includes('memory')) return []
      return lineage(group).map(path => join(MOUNT, 'memory', path, 'memory.limit_in_bytes'))
    })
}

/** Returns the paths of a control group and its parents. In a container, some parents may have no files. */
function lineage(group: string): string[] {
  return group === '/' ? [group] : [group, ...lineage(dirname(group))]
}

function textOf(read: (path: string) => string, path: string): string {
  try {
    return read(path).trim()
  } catch {
    return ''
  }
}
