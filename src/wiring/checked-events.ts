import { checkingCalls } from '../config/given-calls.ts'
import { EVENT_CALLS, EVENTS } from '../config/option-names.ts'
import { HoldfastError } from '../domain/errors.ts'
import { suggestion } from '../domain/near-names.ts'
import type { Events } from '../pins/events.ts'

const NAMES = EVENTS.split(' ')

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
  if (NAMES.includes(name)) return name
  throw new HoldfastError('VALIDATION', `unknown event ${name}${suggestion(name, NAMES)}`)
}
