import type { ConnectionEncrypter, MessageStream } from '@libp2p/interface'
import { type NoiseComponents, noise } from '@libp2p/noise'
import { beginNegotiation, endNegotiation } from './negotiation.ts'
import { noiseCrypto } from './noise-crypto.ts'
import { WholeMessages } from './whole-messages.ts'

/** Returns Noise encryption that allocates less memory and sends fewer packets than the library's default. */
export function leanNoise(): (components: NoiseComponents) => ConnectionEncrypter {
  return components => {
    const encrypter = noise({ crypto: noiseCrypto })(components)
    const secure = async <T extends { connection: MessageStream }>(
      connection: MessageStream,
      how: (messages: MessageStream) => Promise<T>,
    ): Promise<T> => {
      endNegotiation(connection)
      const messages = new WholeMessages(connection)
      const secured = await how(messages)
      // The handshake is over. From now on, each message is decrypted immediately into a buffer of its own.
      messages.reuse()
      beginNegotiation(secured.connection)
      return secured
    }
    return {
      protocol: encrypter.protocol,
      secureInbound: (connection, options) =>
        secure(connection, messages => encrypter.secureInbound(messages, options)),
      secureOutbound: (connection, options) =>
        secure(connection, messages => encrypter.secureOutbound(messages, options)),
    }
  }
}
