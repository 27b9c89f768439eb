import Type from 'typebox'

const closed = { additionalProperties: false }
const text = Type.String({ minLength: 1 })

const gatewaySchema = Type.Object({ label: Type.String(), publicUrl: text, url: Type.Optional(text) }, closed)

const backendSchema = Type.Object(
  {
    type: Type.Literal('holdfast'),
    url: text,
    cluster: text,
    keyFile: Type.Optional(text),
    keyEnv: Type.Optional(text),
    gateway: Type.Optional(text),
    cacheBytes: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  closed,
)

/** A cluster in a configuration, of which the rest is filled in. */
export const clusterSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }),
    label: Type.Optional(Type.String()),
    region: Type.Optional(Type.String()),
    country: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    gateways: Type.Optional(Type.Array(gatewaySchema)),
    dataDir: Type.Optional(text),
    backend: Type.Optional(backendSchema),
  },
  closed,
)
