import { hash } from "./hash.js";

/** Range of a text, from its first character to the character after its last. */
interface Span {
  readonly start: number;
  readonly end: number;
  /** Replacement for the text. */
  readonly replacement: string;
}

/** Removes secrets from texts and values: keys, tokens, data URIs, and the queries and passwords of URLs. */
export interface Redactor {
  /** Adds a secret, which is then found in every encoding. Secrets shorter than 6 characters are ignored. */
  readonly add: (secret: string) => void;
  /** Returns `text` without secrets. */
  readonly redactText: (text: string) => string;
  /** Returns the chunks of a text without its secrets, including secrets that span several chunks. */
  readonly redactChunks: (chunks: readonly string[]) => string[];
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

/** Patterns of secrets. If a pattern has a group `prefix`, the prefix stays. */
const patterns: readonly RegExp[] = [
  /(?<prefix>\b(?:bearer|basic)\s+)[^\s"',;`<>\\[\]]+/gi,
  /(?<prefix>\bsk-)[\w-]{6,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /\b(?:AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,})/g,
  /(?<prefix>\bhttps?:\/\/)[^\s"'\\/@]+(?=@)/gi,
  /(?<prefix>\bhttps?:\/\/[^\s"'\\?]+\?)[^\s"'\\)<>[\]]+/gi,
];

/**
 * Patterns of filePatterns: data URIs and plain Base64. Their replacement contains a hash, so that two filePatterns can be told
 * apart.
 */
const filePatterns: readonly RegExp[] = [
  /(?<prefix>\bdata:[\w.+/-]{0,128}(?:;[^,;\s"']{0,64}){0,4},)[^\s"'\\)<>[\]]+/gi,
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

  function redactText(text: string): string {
    return redactChunks([text])[0] ?? "";
  }

  function redactChunks(chunks: readonly string[]): string[] {
    const spans = findSpans(chunks.join(""));
    let offset = 0;
    return chunks.map((chunk) => {
      const start = offset;
      offset += chunk.length;
      return removeSpans(chunk, start, spans);
    });
  }

  function redactValue(value: unknown): unknown {
    if (typeof value === "string") return redactText(value);
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(redactValue);
    const entries = Object.entries(value).map(([name, field]) => [
      redactText(name),
      typeof field === "string" && SECRET_NAME.test(name) ? REDACTED : redactValue(field),
    ]);
    return Object.fromEntries(entries);
  }

  function hasSecret(text: string): boolean {
    return [...known].some((secret) => text.includes(secret));
  }

  function findSpans(text: string): Span[] {
    const found = [...known].flatMap((secret) => findOccurrences(text, secret));
    for (const pattern of patterns) found.push(...findMatches(text, pattern, () => REDACTED));
    for (const pattern of filePatterns) found.push(...findMatches(text, pattern, describeFile));
    return mergeSpans(found);
  }
}

function findMatches(text: string, pattern: RegExp, createReplacement: (secret: string) => string): Span[] {
  return [...text.matchAll(pattern)].map(({ 0: match, index, groups }) => {
    const prefix = groups?.["prefix"]?.length ?? 0;
    return {
      start: index + prefix,
      end: index + match.length,
      replacement: createReplacement(match.slice(prefix)),
    };
  });
}

function describeFile(file: string): string {
  return file.length < MIN_FILE_CHARACTERS ? REDACTED : `[redacted ${hash(file)}]`;
}

function findOccurrences(text: string, secret: string): Span[] {
  const found: Span[] = [];
  let start = text.indexOf(secret);
  while (start >= 0) {
    const end = start + secret.length;
    found.push({ start, end, replacement: REDACTED });
    start = text.indexOf(secret, end);
  }
  return found;
}

/** Sorts spans, and merges spans that overlap or touch. The longest span decides the replacement. */
function mergeSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1);
    if (!last || span.start > last.end) merged.push(span);
    else if (span.end > last.end) {
      const { replacement } = span.end - span.start > last.end - last.start ? span : last;
      merged[merged.length - 1] = { start: last.start, end: span.end, replacement };
    }
  }
  return merged;
}

/** Removes the spans from a chunk that begins at `offset`. The chunk where a span begins gets the replacement. */
function removeSpans(chunk: string, offset: number, spans: readonly Span[]): string {
  let cleaned = "";
  let position = 0;
  for (const span of spans) {
    const start = span.start - offset;
    const end = span.end - offset;
    if (end <= 0 || start >= chunk.length) continue;
    if (start >= 0) cleaned += chunk.slice(position, start) + span.replacement;
    position = Math.min(end, chunk.length);
  }
  return cleaned + chunk.slice(position);
}
