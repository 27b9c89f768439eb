/** Audited actions. Each route names its action. */
export const AUDIT_ACTIONS = [
  ...([
    'signup',
    'sign-in',
    'sign-in.code',
    'sign-in.provider',
    'sign-in.proof',
    'sign-out',
    'session.end',
    'sessions.end',
  ] as const),
  ...(['password.change', 'password.set', 'password-link.create', 'profile.change'] as const),
  ...(['second-factor.setup', 'second-factor.enable', 'second-factor.disable'] as const),
  ...(['key.create', 'key.create-console', 'key.revoke'] as const),
  ...(['account.create', 'account.plan', 'account.disable', 'account.enable', 'account.delete'] as const),
  ...(['webhook.create', 'webhook.delete', 'webhook.resend'] as const), // feature: webhooks
  ...(['bulk.delete', 'bulk.edit', 'bulk.undo'] as const), // feature: bulk
  ...(['takedown.add', 'takedown.lift', 'visibility.enable'] as const),
  ...(['node.collect', 'node.verify', 'node.reconcile', 'node.backup', 'node.retire', 'node.forget'] as const),
  ...(['node.away'] as const),
] as const

export type AuditAction = (typeof AUDIT_ACTIONS)[number]
