/** Returns a function that returns an integer from 0 on, below a bound. The same seed gives the same numbers. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
