// A program: many clients, each of which repeats a request over its own connection until the program is stopped.
import { Agent } from 'node:http'
import { ask, type Repeated } from './ask.ts'

export interface Crowd extends Repeated {
  clients: number
}

const { clients, ...repeated } = JSON.parse(process.argv[2] ?? '') as Crowd
const agent = new Agent({ keepAlive: true, maxSockets: clients })
let done = 0

async function client(): Promise<void> {
  for (;;) {
    await ask(agent, repeated)
    done++
  }
}

process.once('SIGTERM', () => {
  console.log(String(done))
  process.exit()
})
console.log('asking')
await Promise.all(Array.from({ length: clients }, client))
