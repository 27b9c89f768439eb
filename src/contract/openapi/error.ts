import { Type } from 'typebox'
import { count, instant } from '../answer-fields.ts'

/** Body of every response with status 400 or higher. */
export const ERROR = Type.Object({
  error: Type.String({ description: 'reason phrase of the status' }),
  message: Type.String({ description: 'for people; names the invalid field' }),
  code: Type.String({ description: 'for programs; stable' }),
  required: Type.Optional(Type.String({ description: 'the missing scope' })),
  retryAfter: Type.Optional(Type.Integer({ minimum: 1, description: 'seconds, as in Retry-After' })),
  limit: Type.Optional(count),
  remaining: Type.Optional(count),
  resetTime: Type.Optional(instant),
  allow: Type.Optional(Type.String({ description: 'the methods of the path' })),
  requestId: Type.Optional(Type.String({ description: 'from 500 on: id of the log entry' })),
})
