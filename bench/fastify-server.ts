// A program: a Fastify server that checks a key and answers with the JSON that was last put.
import fastify from 'fastify'

const [, , key = ''] = process.argv
let answer: unknown = null

const app = fastify({ logger: false, bodyLimit: 2 ** 24 })
app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== `Bearer ${key}`) return reply.code(401).send({ error: 'Unauthorized' })
})
app.put('/list', async request => {
  answer = request.body
  return { stored: true }
})
app.get('/list', async () => answer)
console.log(`listening on ${await app.listen({ port: 0, host: '127.0.0.1' })}`)
process.once('SIGTERM', () => void app.close())
