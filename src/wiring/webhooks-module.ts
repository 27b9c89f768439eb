import { openUrlReader } from '../outgoing/url-reader.ts'
import { openWebhookSender, type WebhookSender } from '../outgoing/webhook-sender.ts'
import { webhookRunner } from '../webhooks/webhook-runner.ts'
import { WebhookService } from '../webhooks/webhook-service.ts'
import type { PinsModule } from './pins-module.ts'
import type { Setup } from './setup.ts'
import type { StorageModule } from './storage-module.ts'

export type WebhooksModule = ReturnType<typeof makeWebhooks>

export function makeWebhooks(
  { clock, logger, metrics, config }: Setup,
  { storage, pins }: { storage: StorageModule; pins: PinsModule },
) {
  const allowPrivate = config.webhooks.allowPrivate
  const { sealing } = storage
  const store = storage.catalogue.webhooks
  const sender: WebhookSender = openWebhookSender({ allowPrivate })
  const { fromUrls } = config.uploads
  const urls = fromUrls === 'off' ? null : openUrlReader({ clock, allowPrivate: fromUrls === 'any' })
  const runner = webhookRunner({ store, sealing, sender, clock, logger, metrics })
  return {
    /** Null if the node reads no URLs. */
    urls,
    webhooks: new WebhookService({ store, sealing, clock, allowPrivate, wake: () => runner.wake() }),
    start: async (): Promise<void> => {
      pins.changes.wakes(runner)
      runner.wake()
    },
    stop: async (): Promise<void> => {
      await runner.stop()
      await sender.close()
      await urls?.close()
    },
  }
}
