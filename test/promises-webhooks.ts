import type { KeptPromise } from './promises.ts'

const webhooks = 'test/webhooks/webhooks.test.ts'

/** What is promised of those who are told of records. */
export const webhookPromises: readonly KeptPromise[] = [
  {
    promise: 'a webhook is told nothing at a private address, whatever name leads there',
    file: 'src/outgoing/public-lookup.ts',
    find: 'addresses.some(({ address }) => isPrivateAddress(address))',
    replace: 'addresses.length === 0',
    test: { file: 'test/outgoing/webhook-sender.test.ts', name: 'a name with address 127.0.0.1 receives no' },
  },
  {
    promise: 'a webhook that hangs holds up no other account',
    file: 'src/webhooks/webhook-runner.ts',
    find: '    perAccount: PER_ACCOUNT,',
    replace: '    perAccount: DELIVERIES_AT_ONCE,',
    test: { file: webhooks, name: 'that hangs holds up no other' },
  },
  {
    promise: 'what a webhook has not said 2xx to is told again',
    file: 'src/webhooks/webhook-runner.ts',
    find: 'if (status < 200 || status > 299) throw',
    replace: 'if (status < 0) throw',
    test: { file: webhooks, name: 'is told again, the same' },
  },
  {
    promise: 'the secret of a webhook lies sealed',
    file: 'src/webhooks/webhook-service.ts',
    find: 'secret: sealed, createdAt',
    replace: 'secret: Buffer.from(secret), createdAt',
    test: { file: webhooks, name: 'is told of each transition once' },
  },
]
