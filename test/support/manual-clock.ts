import { TestClock } from '../../src/testing/index.ts'

/** A clock for tests whose dates are written out. */
export class ManualClock extends TestClock {
  constructor(start: number | string = '2030-01-01T00:00:00.000Z') {
    super(start)
  }
}
