import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import { nodeFileSystem } from './file-system.ts'

/** Gives a file another text. Either the old one is there or the new one, whenever the power goes. */
export async function replaceFile(path: string, text: string, files = nodeFileSystem): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await files.create(temporary)
    try {
      await file.write(Buffer.from(text))
      await file.datasync()
    } finally {
      await file.close()
    }
    await files.rename(temporary, path)
  } catch (error) {
    await files.unlink(temporary).catch(() => undefined)
    throw error
  }
  await files.syncDirectory(dirname(path))
}
