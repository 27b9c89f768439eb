import { ADMIN_PATH, BASE_PATH } from '../../contract/routes.ts'
import type { FeatureModule } from '../feature.ts'
import { deliveryRoutes } from './delivery-routes.ts'
import { type WebhookServices, webhookRoutes } from './webhook-routes.ts'
import { webhookRules } from './webhook-rules.ts'
import { webhookRunner } from './webhook-runner.ts'
import { openWebhookSender } from './webhook-sender.ts'
import { WebhookService } from './webhook-service.ts'

export const webhooksModule: FeatureModule<WebhookServices> = {
  routes: [
    { base: BASE_PATH, before: '/plans/change', routes: webhookRoutes },
    { base: ADMIN_PATH, before: '/nodes', routes: deliveryRoutes },
  ],
  make: ({ clock, logger, metrics, config, sealing, rules }) => {
    const { allowPrivate } = config.webhooks
    const store = webhookRules(rules)
    const sender = openWebhookSender({ allowPrivate })
    const runner = webhookRunner({ store, sealing, sender, clock, logger, metrics })
    const wake = (): void => runner.wake()
    return {
      services: { webhooks: new WebhookService({ store, sealing, clock, allowPrivate, wake }) },
      wake,
      unsettled: () => runner.unsettled(),
      stop: async () => {
        await runner.stop()
        await sender.close()
      },
    }
  },
}
