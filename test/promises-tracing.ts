import type { KeptPromise } from './promises.ts'

const spans = 'test/adapters/opentelemetry/spans.test.ts'
const server = 'test/adapters/cli/tracing.test.ts'

/** Promises about traces. */
export const tracingPromises: readonly KeptPromise[] = [
  {
    promise: 'a span has the route, and not the path',
    file: 'src/http/access-log.ts',
    find: 'request: { method, route, status: response.status,',
    replace: 'request: { method, route: request.path, status: response.status,',
    test: { file: spans, name: 'a request has its route, its caller' },
  },
  {
    promise: "a span is below the client's span",
    file: 'adapters/opentelemetry/spans.ts',
    find: 'return propagation.extract(ROOT_CONTEXT, {',
    replace: 'return propagation.extract(ROOT_CONTEXT, {}) ?? ({',
    test: { file: spans, name: 'a request has its route, its caller' },
  },
  {
    promise: 'a broken SDK fails no request',
    file: 'adapters/opentelemetry/spans.ts',
    find: "diag.error('holdfast: cannot make a span', error)",
    replace: 'throw error',
    test: { file: spans, name: 'a broken SDK fails no request' },
  },
  {
    promise: 'a fetch is traced below its request',
    file: 'src/jobs/job-runner.ts',
    find: '() => this.#run(attempt), currentRequest())',
    replace: '() => this.#run(attempt))',
    test: { file: spans, name: 'a fetch is below the request' },
  },
  {
    promise: 'gateway threads hand their spans over',
    file: 'adapters/node-http/readers.ts',
    find: 'this.#metrics?.finished !== undefined',
    replace: 'this.#metrics?.finished === null',
    test: { file: spans, name: 'the main thread makes the spans' },
  },
  {
    promise: 'a server traces only if configured',
    file: 'adapters/cli/serve.ts',
    find: 'if (config.tracing === true) metrics',
    replace: 'metrics',
    test: { file: server, name: 'a server without tracing loads no package' },
  },
]
