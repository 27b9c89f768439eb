import { dirname, join } from 'node:path'
import type { Clients } from '../clients/clients.ts'
import type { FormContent } from '../content.ts'
import type { Subject } from '../contest.ts'
import type { Service } from '../services/service.ts'

export interface Uploadable {
  readonly name: string
  start(dir: string): Promise<Pick<Service, 'pids' | 'upload' | 'rootOf' | 'isComparable' | 'stop'>>
}

/** Returns a subject that uploads a form with a load client. All subjects get the same bytes. */
export function uploadSubject<W extends FormContent>(
  { name, start }: Uploadable,
  kind: 'file' | 'tree',
  clients: Clients,
): Subject<W> {
  return {
    name,
    async start(dir) {
      const service = await start(dir)
      const path = join(dirname(dir), 'form.bin')
      return {
        pids: service.pids,
        prepare: async work => void (await work.formFile(path)),
        async run(work) {
          const { contentType } = await work.formFile(path)
          const { client, seconds, body } = await clients.send(service.upload(kind), path, contentType)
          return { client, seconds, ...(service.isComparable && { cid: service.rootOf(body) }) }
        },
        stop: () => service.stop(),
      }
    },
  }
}
