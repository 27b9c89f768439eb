import { type BinaryLike, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Semaphore } from '../../concurrency/semaphore.ts'
import { HoldfastError } from '../../domain/errors.ts'

/** Passwords as they are stored: slow to compute, so that whoever gets hold of one cannot try out many. */
export interface PasswordHasher {
  /** What to store; it names the parameters it was made with. */
  hash(password: string): Promise<string>
  /** Whether it is the password of that hash. For null, nobody's, the same work is done and the answer is no. */
  verify(password: string, stored: string | null): Promise<boolean>
  /** Whether it was made with the parameters that new hashes get. */
  isCurrent(stored: string): boolean
}

/** Of RFC 7914: memory is 128 × `cost` × `blockSize` bytes. */
export interface ScryptParameters {
  /** A power of two. */
  cost: number
  blockSize: number
  parallelization: number
}

/** The computation itself, as a port, so that tests can count it. */
export type DeriveKey = (
  password: BinaryLike,
  salt: Uint8Array,
  length: number,
  options: ScryptOptions,
) => Promise<Buffer>

/** 32 MiB and some 60 ms. */
const DEFAULT_PARAMETERS: ScryptParameters = { cost: 2 ** 15, blockSize: 8, parallelization: 1 }
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Each takes a thread of the pool and its memory. */
const AT_ONCE = 2
/** More would have clients wait for seconds. */
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

/** Passwords by scrypt, in the thread pool. Every call may end with `UNAVAILABLE` if too many wait already. */
export class ScryptHasher implements PasswordHasher {
  readonly #parameters: ScryptParameters
  readonly #derive: DeriveKey
  readonly #gate = new Semaphore(AT_ONCE)
  /** Stands in for the hash of those who have none. */
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
      throw new HoldfastError('UNAVAILABLE', 'too many are signing in at once, try again', {
        details: { retryAfter: RETRY_SECONDS },
      })
    }
    const { cost, blockSize, parallelization } = parameters
    // Twice what the formula says: the limit is meant for parameters from outside.
    const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
    this.#waiting++
    try {
      // The same letters typed on another keyboard may come as other code points.
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
