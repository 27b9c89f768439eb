import type { Reconciliation } from '../../src/catalogue/reconciliation.ts'
import type { CatalogueHolds } from '../../src/ledger/catalogue-holds.ts'

type Checks = Pick<Reconciliation, 'holds' | 'roots' | 'records' | 'fetches'>
/** Parameters of a step. */
type Of<Check extends keyof Checks> = Parameters<Checks[Check]>[0]

/** Repeats each step of a reconciliation until nothing is left. On a busy machine a step ends early. */
export function whole({ holds, roots, records, fetches }: Checks) {
  return {
    holds: (step: Of<'holds'>) => unwantedOf(step.after, after => holds({ ...step, after })),
    roots: (step: Of<'roots'>) => unwantedOf(step.after, after => roots({ ...step, after })),
    fetches: (step: Of<'fetches'>) => unwantedOf(step.after, after => fetches({ ...step, after })),
    records: async (step: Of<'records'>) => {
      const steps = await stepsFrom(step.after, after => records({ ...step, after }))
      const seen = steps.reduce((sum, one) => sum + one.seen, 0)
      return { seen, findings: steps.flatMap(one => one.findings), changes: steps.flatMap(one => one.changes) }
    },
  }
}

/** Returns the ids of all holds of a ledger, in their order. */
export function holdsIn(ledger: CatalogueHolds): string[] {
  return [...paged('', after => ledger.holdsAfter(after, 1_000))]
}

/** Returns the ids of all complete roots of a ledger, in their order. */
export function rootsIn(ledger: CatalogueHolds): number[] {
  return [...paged(0, after => ledger.rootsAfter(after, 1_000).map(({ id }) => id))]
}

async function unwantedOf<Place, Found>(
  first: Place,
  check: (after: Place) => Promise<{ unwanted: Found[]; seen: number; last: Place | null }>,
): Promise<{ unwanted: Found[]; seen: number }> {
  const steps = await stepsFrom(first, check)
  return { unwanted: steps.flatMap(one => one.unwanted), seen: steps.reduce((sum, one) => sum + one.seen, 0) }
}

async function stepsFrom<Place, Step extends { last: Place | null }>(
  first: Place,
  run: (after: Place) => Promise<Step>,
): Promise<Step[]> {
  const steps: Step[] = []
  for (let after: Place | null = first; after !== null; after = steps.at(-1)?.last ?? null) steps.push(await run(after))
  return steps
}

function* paged<Id>(first: Id, page: (after: Id) => Id[]): Generator<Id> {
  for (let found = page(first); found.length > 0; found = page(found.at(-1) ?? first)) yield* found
}
