import { type BinaryLike, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Semaphore } from '../../concurrency/capacity/semaphore.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Hashing is slow, so that a leaked hash is expensive to crack. */
export interface PasswordHasher {
  /** Returns a hash that includes its parameters. */
  hash(password: string): Promise<string>
  /** Returns whether a password matches a stored hash. If the hash is null, returns false after the same time. */
  verify(password: string, stored: string | null): Promise<boolean>
  isCurrent(stored: string): boolean
}

/** Parameters of scrypt (RFC 7914). A hash needs 128 × `cost` × `blockSize` bytes of memory. */
export interface ScryptParameters {
  /** A power of two. */
  cost: number
  blockSize: number
  parallelization: number
}

export type DeriveKey = (
  password: BinaryLike,
  salt: Uint8Array,
  length: number,
  options: ScryptOptions,
) => Promise<Buffer>

/** A hash needs 32 MiB of memory and about 60 ms. */
const DEFAULT_PARAMETERS: ScryptParameters = { cost: 2 ** 15, blockSize: 8, parallelization: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Each hash occupies a thread of the pool and 32 MiB of memory. */
const AT_ONCE = 2
/** In a longer queue, clients would wait for seconds. */
const MOST_WAITING = 100
const RETRY_SECONDS = 5

const systemScrypt: DeriveKey = (password, salt, length, options) =>
  new Promise((resolve, reject) => {
    scrypt(password, salt, length, options, (error, key) => (error === null ? resolve(key) : reject(error)))
  })

interface ParsedHash {
  parameters: ScryptParameters
  salt: Buffer
  hash: Buffer
}

/** Hashes with scrypt in the thread pool. If the queue is full, `hash` and `verify` throw `UNAVAILABLE`. */
export class ScryptHasher implements PasswordHasher {
  readonly #parameters: ScryptParameters
  readonly #derive: DeriveKey
  readonly #gate = new Semaphore(AT_ONCE)
  /** Random hash to compare with if there is no valid stored hash. */
  readonly #decoy: ParsedHash
  #waiting = 0

  constructor(parameters: ScryptParameters = DEFAULT_PARAMETERS, derive: DeriveKey = systemScrypt) {
    this.#parameters = parameters
    this.#derive = derive
    this.#decoy = { parameters, salt: randomBytes(SALT_BYTES), hash: randomBytes(HASH_BYTES) }
  }

  static ofCost(cost: number = DEFAULT_PARAMETERS.cost): ScryptHasher {
    return new ScryptHasher({ ...DEFAULT_PARAMETERS, cost })
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const hash = await this.#compute(password, salt, this.#parameters)
    return ['scrypt', describe(this.#parameters), salt.toString('base64url'), hash.toString('base64url')].join('$')
  }

  async verify(password: string, stored: string | null): Promise<boolean> {
    const known = stored === null ? null : parseHash(stored)
    const { parameters, salt, hash } = known ?? this.#decoy
    const computed = await this.#compute(password, salt, parameters)
    return timingSafeEqual(computed, hash) && known !== null
  }

  isCurrent(stored: string): boolean {
    const parsed = parseHash(stored)
    return parsed !== null && describe(parsed.parameters) === describe(this.#parameters)
  }

  async #compute(password: string, salt: Buffer, parameters: ScryptParameters): Promise<Buffer> {
    if (this.#waiting >= MOST_WAITING) {
      throw new HoldfastError('UNAVAILABLE', 'too many sign-ins at once, try again', {
        details: { retryAfter: RETRY_SECONDS },
      })
    }
    const { cost, blockSize, parallelization } = parameters
    // Allow twice the memory of the formula. Node's limit protects against untrusted parameters, and these are trusted.
    const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
    this.#waiting++
    try {
      // Normalize the password, because keyboards may send different code points for the same letter.
      return await this.#gate.hold(1, () => this.#derive(password.normalize('NFKC'), salt, HASH_BYTES, options))
    } finally {
      this.#waiting--
    }
  }
}

function describe({ cost, blockSize, parallelization }: ScryptParameters): string {
  return `N=${cost},r=${blockSize},p=${parallelization}`
}

function parseHash(stored: string): ParsedHash | null {
  const match = /^scrypt\$N=(\d+),r=(\d+),p=(\d+)\$([\w-]+)\$([\w-]+)$/.exec(stored)
  if (match === null) return null
  const [, cost, blockSize, parallelization, salt = '', hash = ''] = match
  const bytes = Buffer.from(hash, 'base64url')
  if (bytes.length !== HASH_BYTES) return null
  return {
    parameters: { cost: Number(cost), blockSize: Number(blockSize), parallelization: Number(parallelization) },
    salt: Buffer.from(salt, 'base64url'),
    hash: bytes,
  }
}
