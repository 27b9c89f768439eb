// Uses the plugin from TypeScript, with fastify installed.
import fastify from 'fastify'
import { createEngine } from 'holdfast'
import plugin, { frameworkErrors, holdfast } from 'holdfast/fastify'

export async function use(): Promise<void> {
  const engine = await createEngine({ dataDir: 'data' })
  const app = fastify({ frameworkErrors: frameworkErrors({ engine }), logger: true })
  await app.register(holdfast, { engine, prefix: '/pins' })
  app.register(plugin, { engine })
  // @ts-expect-error: the engine is required
  app.register(holdfast, {})
}
