// The gateway threads load this file. To save memory, neither this file nor its imports may import the engine.
import type { Server, ServerResponse } from 'node:http'

const open = new WeakMap<Server, Set<ServerResponse>>()

/** Notes an answer that a server has begun, until it has ended. */
export function noteAnswer(server: Server, answer: ServerResponse): void {
  const answers = open.get(server) ?? new Set()
  open.set(server, answers.add(answer))
  answer.once('close', () => answers.delete(answer))
}

/**
 * Runs `close`, in which Node closes idle connections. Node takes a connection for idle once its answer is complete, and
 * would drop bytes that a slow client has not yet taken.
 */
export function keepingAnswers(server: Server, close: () => void): void {
  const sockets = [...(open.get(server) ?? [])].flatMap(({ socket }) => socket ?? [])
  for (const socket of sockets) socket.destroy = () => socket
  try {
    close()
  } finally {
    for (const socket of sockets) Reflect.deleteProperty(socket, 'destroy')
  }
}

/** Resolves when the answers that a server of this package is giving at this moment have ended. */
export async function answersEnded(server: Server): Promise<void> {
  const ends = [...(open.get(server) ?? [])].map(answer => new Promise(resolve => answer.once('close', resolve)))
  await Promise.all(ends)
}
