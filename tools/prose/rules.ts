import type { TextlintKernelRule } from '@textlint/kernel'
import type { Kind } from './text.ts'

const MOST_WORDS = 25
const MOST_TITLE_WORDS = 12
const MOST_SUBJECT = 72

/** Returns a description of the sentence's fault, or undefined. */
type Check = (sentence: string, kind: Kind) => string | undefined

/** Relative clauses in place of a noun at the start of a sentence. Questions and headings may begin with one. */
const RELATIVE =
  /^(?:What|Who|Whose|Whoever|Whatever|Whichever|Whether|Of|By (?:which|what|whom)|(?:For|After|Before) so (?:long|many|much))\b/i
const THAT_CLAUSE = /^That (?:no|a|an|the|it|they|each|every|one|nobody|nothing|any|all|some|what)\b/
const PHRASES = [
  /\b(?:am|is|are|was|were|be|been|being) told\b/i,
  /\b(?:tells?|telling|told) of\b/i,
  /\b(?:let|lets|letting) (?:\w+ )?go\b/i,
  /\b(?:come|comes|came|coming) to (?!an? (?:halt|stop)\b)/i,
  /\b(?:put|puts|putting) right\b/i,
  /\bhow far\b/i,
  /\b(?:is|are) taken to be\b/i,
  /\b(?:is|are) like that\b/i,
  /\b(?:does|do) what\b/i,
  /\bwho(?:so)?ever\b/i,
]
/** `there is` says that something exists; every other `there` stands for a thing. */
const EXISTS =
  /\bthere(?= (?:is|are|was|were|will|would|may|might|can|could|must|should|has|have|had|be|been|being|never|exists?)\b)/gi
const ASKS = /\b(?:is|are|was|were|if|be) there\b/gi
const PLACE = /\b(?:here|there|elsewhere)\b/i

const subject: Check = (sentence, kind) => {
  if (kind === 'heading' || sentence.endsWith('?')) return undefined
  const clause = RELATIVE.exec(sentence) ?? THAT_CLAUSE.exec(sentence)
  return clause === null ? undefined : `begins with "${clause[0]}": name the thing`
}

const phrase: Check = sentence => {
  const found = PHRASES.map(each => each.exec(sentence)).find(match => match !== null)
  return found === undefined ? undefined : `"${found[0].trim()}": use the verb of the trade`
}

const place: Check = sentence => {
  const found = PLACE.exec(sentence.replaceAll(EXISTS, '').replaceAll(ASKS, ''))
  return found === null ? undefined : `"${found[0]}" stands for a thing: name it`
}

const length: Check = (sentence, kind) => {
  const words = wordsOf(sentence)
  if (kind === 'subject') return sentence.length > MOST_SUBJECT ? `has ${sentence.length} characters` : undefined
  const most = kind === 'title' ? MOST_TITLE_WORDS : MOST_WORDS
  return words > most ? `has ${words} words, ${most} are allowed` : undefined
}

export const checks = { subject, phrase, place, length }

/** Counts words: texts between spaces with a letter or a digit. */
function wordsOf(text: string): number {
  return text.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)).length
}

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** Checks each sentence of a passage, but titles and subjects as a whole. */
export function rule(check: Check): TextlintKernelRule['rule'] {
  return ({ report, RuleError }) => ({
    Str(node) {
      const { value, kind } = node as typeof node & { kind: Kind }
      for (const sentence of sentencesOf(value, kind)) {
        const fault = check(sentence, kind)
        if (fault !== undefined) report(node, new RuleError(`${fault}: ${sentence}`))
      }
    },
  })
}

function sentencesOf(text: string, kind: Kind): string[] {
  if (kind === 'title' || kind === 'subject') return [text]
  const found = [...sentences.segment(text)].map(({ segment }) => segment.trim())
  return kind === 'tag' ? found.flatMap(sentence => sentence.split('; ')) : found
}
