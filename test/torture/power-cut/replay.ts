import { SimulatedDirectory, SimulatedDisk, SimulatedFile, type SimulatedNode } from './simulated-disk.ts'
import { type SystemCall, stringsOf } from './system-calls.ts'

interface OpenFile {
  node: SimulatedNode
  position: number
}

/** Applies the recorded calls of a process to a simulated disk. */
export class Replay {
  readonly disk: SimulatedDisk
  readonly #open = new Map<number, OpenFile>()
  readonly #syncs = new Map<string, () => void>()

  constructor(home: string) {
    this.disk = new SimulatedDisk(home)
  }

  /** Applies one call. @throws Error for a call that changes the disk in a way the replay does not know */
  apply(call: SystemCall): void {
    if (call.phase === 'began') this.#begin(call)
    else if (call.result !== null && call.result >= 0) this.#end(call)
    else this.#syncs.delete(call.thread)
  }

  /**
   * Begins a call. A sync covers writes before its beginning, and a file descriptor is free when its closing begins.
   */
  #begin({ name, args, thread }: SystemCall): void {
    if (name === 'close') this.#open.delete(Number.parseInt(args, 10))
    if (name !== 'fsync' && name !== 'fdatasync') return
    const file = this.#open.get(Number.parseInt(args, 10))
    if (file !== undefined) this.#syncs.set(thread, this.disk.beginSync(file.node))
  }

  #end({ name, args, result, thread, phase }: SystemCall): void {
    const file = this.#open.get(Number.parseInt(args, 10))
    switch (name) {
      case 'open':
      case 'openat':
      case 'creat':
        this.#opened(args, result ?? -1)
        return
      case 'close':
        if (phase === 'both') this.#open.delete(Number.parseInt(args, 10))
        return
      case 'write':
      case 'pwrite64':
        if (file?.node instanceof SimulatedFile) this.#written(name, args, file.node, file, result ?? 0)
        return
      case 'fsync':
      case 'fdatasync': {
        const sync = this.#syncs.get(thread) ?? (file === undefined ? undefined : this.disk.beginSync(file.node))
        this.#syncs.delete(thread)
        sync?.()
        return
      }
      case 'ftruncate':
        if (file?.node instanceof SimulatedFile) this.disk.truncate(file.node, Number(args.split(', ').at(-1)))
        return
      case 'sync_file_range':
        return
      default:
        this.#named(name, args, file)
    }
  }

  #opened(args: string, number: number): void {
    const path = `${stringsOf(args)[0]}`
    let node = this.disk.find(path)
    if (node === undefined && /O_CREAT/.test(args)) node = this.disk.createFile(path)
    else if (node instanceof SimulatedFile && /O_TRUNC/.test(args)) this.disk.truncate(node, 0)
    if (node === undefined) this.#open.delete(number)
    else
      this.#open.set(number, {
        node,
        position: /O_APPEND/.test(args) && node instanceof SimulatedFile ? node.length : 0,
      })
  }

  #written(name: string, args: string, node: SimulatedFile, file: OpenFile, length: number): void {
    const bytes = stringsOf(args)[0]?.subarray(0, length)
    if (bytes?.length !== length) throw new Error(`the bytes of a ${name} are missing`)
    const at = name === 'write' ? file.position : Number(args.slice(args.lastIndexOf(', ') + 2))
    this.disk.write(node, at, bytes)
    if (name === 'write') file.position += length
  }

  /** Applies a call that names its file by path. */
  #named(name: string, args: string, file: OpenFile | undefined): void {
    const [first = '', second = ''] = stringsOf(args).map(String)
    switch (name) {
      case 'rename':
      case 'renameat':
      case 'renameat2':
        this.disk.rename(first, second)
        return
      case 'unlink':
      case 'unlinkat':
      case 'rmdir':
        this.disk.remove(first)
        return
      case 'mkdir':
      case 'mkdirat':
        this.disk.makeDirectory(first)
        return
      default: {
        const touches = file !== undefined || this.disk.find(first) instanceof SimulatedDirectory
        if (touches) throw new Error(`a ${name} is not replayed`)
      }
    }
  }
}
