import { hash } from "./hash.js";

/** Range of a text, from its first character to the character after its last. */
interface Span {
  readonly start: number;
  readonly end: number;
  /** Replacement for the text. */
  readonly sign: string;
}

/** Removes secrets from texts and values: keys, tokens, data URIs, and the queries and passwords of URLs. */
export interface Redactor {
  /** Adds a secret, which is then found in every encoding. Secrets shorter than 6 characters are ignored. */
  readonly add: (secret: string) => void;
  /** Returns `text` without secrets. */
  readonly redactText: (text: string) => string;
  /** Returns the chunks of a text without its secrets, including secrets that span several chunks. */
  readonly redactChunks: (pieces: readonly string[]) => string[];
  /** Returns a copy of plain JSON without secrets. Field names are redacted too. */
  readonly redactValue: (value: unknown) => unknown;
  /** Checks if a text contains an added secret. */
  readonly hasSecret: (text: string) => boolean;
}

const REDACTED = "[redacted]";
const MIN_SECRET_CHARACTERS = 6;
/**
 * Minimum number of characters of a file that gets a hash. The content of a shorter file could be guessed from its
 * hash.
 */
const MIN_FILE_CHARACTERS = 32;

/** Patterns of secrets. If a pattern has a group `shown`, only the text after the group is removed. */
const patterns: readonly RegExp[] = [
  /(?<shown>\b(?:bearer|basic)\s+)[^\s"',;`<>\\[\]]+/gi,
  /(?<shown>\bsk-)[\w-]{6,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /\b(?:AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,})/g,
  /(?<shown>\bhttps?:\/\/)[^\s"'\\/@]+(?=@)/gi,
  /(?<shown>\bhttps?:\/\/[^\s"'\\?]+\?)[^\s"'\\)<>[\]]+/gi,
];

/**
 * Patterns of files: data URIs and plain Base64. Their replacement contains a hash, so that two files can be told
 * apart.
 */
const files: readonly RegExp[] = [
  /(?<shown>\bdata:[\w.+/-]{0,128}(?:;[^,;\s"']{0,64}){0,4},)[^\s"'\\)<>[\]]+/gi,
  /[\w+/-]{200,}={0,2}/g,
];

const SECRET_NAME =
  /authorization|cookie|password|secret|credential|api[-_]?key|(?:^|[-_]|access|refresh|auth|session)token$|^signature$/i;

/** Creates a redactor for `secrets`, and for the patterns of keys and tokens. */
export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Set<string>();
  for (const secret of secrets) add(secret);
  return { add, redactText, redactChunks, redactValue, hasSecret };

  function add(secret: string) {
    if (secret.length < MIN_SECRET_CHARACTERS) return;
    const escaped = JSON.stringify(secret).slice(1, -1);
    for (const form of [secret, encodeURIComponent(secret), escaped]) known.add(form);
  }

  function redactText(whole: string): string {
    return redactChunks([whole])[0] ?? "";
  }

  function redactChunks(parts: readonly string[]): string[] {
    const spans = findSpans(parts.join(""));
    let offset = 0;
    return parts.map((part) => {
      const start = offset;
      offset += part.length;
      return removeSpans(part, start, spans);
    });
  }

  function redactValue(given: unknown): unknown {
    if (typeof given === "string") return redactText(given);
    if (typeof given !== "object" || given === null) return given;
    if (Array.isArray(given)) return given.map(redactValue);
    const entries = Object.entries(given).map(([name, field]) => [
      redactText(name),
      typeof field === "string" && SECRET_NAME.test(name) ? REDACTED : redactValue(field),
    ]);
    return Object.fromEntries(entries);
  }

  function hasSecret(whole: string): boolean {
    return [...known].some((secret) => whole.includes(secret));
  }

  function findSpans(whole: string): Span[] {
    const found = [...known].flatMap((secret) => findOccurrences(whole, secret));
    for (const pattern of patterns) found.push(...matches(whole, pattern, () => REDACTED));
    for (const pattern of files) found.push(...matches(whole, pattern, describeFile));
    return mergeSpans(found);
  }
}

function matches(whole: string, pattern: RegExp, createSign: (secret: string) => string): Span[] {
  return [...whole.matchAll(pattern)].map(({ 0: match, index, groups }) => {
    const shown = groups?.["shown"]?.length ?? 0;
    return { start: index + shown, end: index + match.length, sign: createSign(match.slice(shown)) };
  });
}

function describeFile(file: string): string {
  return file.length < MIN_FILE_CHARACTERS ? REDACTED : `[redacted ${hash(file)}]`;
}

function findOccurrences(whole: string, secret: string): Span[] {
  const found: Span[] = [];
  for (let at = whole.indexOf(secret); at >= 0; at = whole.indexOf(secret, at + secret.length))
    found.push({ start: at, end: at + secret.length, sign: REDACTED });
  return found;
}

/** Sorts spans, and merges spans that overlap or touch. The longest span decides the replacement. */
function mergeSpans(spans: readonly Span[]): Span[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = joined.at(-1);
    if (!last || span.start > last.end) joined.push(span);
    else if (span.end > last.end) {
      const { sign } = span.end - span.start > last.end - last.start ? span : last;
      joined[joined.length - 1] = { start: last.start, end: span.end, sign };
    }
  }
  return joined;
}

/** Removes the spans from a chunk that begins at `offset`. The chunk where a span begins gets the replacement. */
function removeSpans(part: string, offset: number, spans: readonly Span[]): string {
  const end = offset + part.length;
  let at = offset;
  let unchanged = "";
  for (const { start: from, end: to, sign } of spans) {
    if (to <= offset || from >= end) continue;
    if (from >= offset) unchanged += part.slice(at - offset, from - offset) + sign;
    at = Math.min(to, end);
  }
  return unchanged + part.slice(at - offset);
}
