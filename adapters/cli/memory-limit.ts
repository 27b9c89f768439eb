import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

const CGROUPS = '/proc/self/cgroup'
const MOUNT = '/sys/fs/cgroup'

/** Returns the memory that this process may use: the lowest limit of its control groups, or that of the machine. */
export function memoryLimit(read: (path: string) => string = path => readFileSync(path, 'utf8')): number {
  let lowest = totalmem()
  for (const path of limitFiles(read)) {
    const limit = Number(textOf(read, path))
    // Version 2 says "max" for no limit, which is no number; version 1 has a number beyond any memory.
    if (limit > 0) lowest = Math.min(lowest, limit)
  }
  return lowest
}

/** Lists the files with the limits of the process's groups and of all their parents. */
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

/** Lists a group and its parents. Inside a container the upper ones may be missing. */
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
