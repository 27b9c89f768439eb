import { checkingCalls } from '../config/given-calls.ts'
import { HoldfastError } from '../domain/errors.ts'
import type { Fields } from '../domain/known-fields.ts'
import { suggestion } from '../domain/near-names.ts'
import type { Events } from '../pins/events.ts'
import type { EngineEvents } from '../pins/pin-types.ts'
import { EVENT_CALLS } from './given-options.ts'

const EVENTS: Fields<EngineEvents> = {
  'pin:created': true,
  'pin:status': true,
  'pin:removed': true,
  'undo:ended': true,
  'block:damaged': true,
  'block:healed': true,
  collected: true,
}

/** Wraps the events of an engine so that an unknown event is `VALIDATION`. */
export function checkedEvents(events: Events): Events {
  return checkingCalls<Events>(
    {
      on: (name, listener, options) => events.on(known(name), listener, options),
      once: async (name, options) => events.once(known(name), options),
    },
    EVENT_CALLS,
    ['on'],
  )
}

/** Throws a HoldfastError `VALIDATION` for an unknown event, with the name that was probably meant. */
function known<Name extends string>(name: Name): Name {
  if (Object.hasOwn(EVENTS, name)) return name
  throw new HoldfastError('VALIDATION', `unknown event ${name}${suggestion(name, Object.keys(EVENTS))}`)
}
