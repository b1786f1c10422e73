import { hash } from "./hash.js";

/** Part of a text, from its first character to the one after its last. */
interface Span {
  readonly start: number;
  readonly end: number;
  /** Written in place of the part. */
  readonly sign: string;
}

/** Removes secrets from texts and values: keys, tokens, data URIs, and the queries and passwords of URLs. */
export interface Redactor {
  /** Adds a secret, so that it is found in every form in which it may be written. Shorter than 6 characters is ignored. */
  readonly add: (secret: string) => void;
  /** Returns `text` without secrets. */
  readonly text: (text: string) => string;
  /** Returns the pieces of a text without its secrets; one that lies over several pieces is found too. */
  readonly pieces: (pieces: readonly string[]) => string[];
  /** Returns a copy of plain JSON without secrets, field names included. */
  readonly value: (value: unknown) => unknown;
  /** Checks if a text has a secret that was added. */
  readonly hasSecret: (text: string) => boolean;
}

const REDACTED = "[redacted]";
const LEAST_SECRET = 6;
/** Characters of a file from which it gets a hash. The content of a shorter one could be guessed by its hash. */
const LEAST_FILE = 32;

/** Patterns of secrets. Where one has a group `shown`, only the text behind it is removed. */
const patterns: readonly RegExp[] = [
  /(?<shown>\b(?:bearer|basic)\s+)[^\s"',;`<>\\[\]]+/gi,
  /(?<shown>\bsk-)[\w-]{6,}/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g,
  /\b(?:AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,})/g,
  /(?<shown>\bhttps?:\/\/)[^\s"'\\/@]+(?=@)/gi,
  /(?<shown>\bhttps?:\/\/[^\s"'\\?]+\?)[^\s"'\\)<>[\]]+/gi,
];

/** Patterns of files: data URIs and plain Base64. Their sign has a hash, so that two files can be told apart. */
const files: readonly RegExp[] = [
  /(?<shown>\bdata:[\w.+/-]{0,128}(?:;[^,;\s"']{0,64}){0,4},)[^\s"'\\)<>[\]]+/gi,
  /[\w+/-]{200,}={0,2}/g,
];

const SECRET_NAME =
  /authorization|cookie|password|secret|credential|api[-_]?key|(?:^|[-_]|access|refresh|auth|session)token$|^signature$/i;

/** Creates a redactor that knows `secrets`, beside the patterns of keys and tokens. */
export function createRedactor(secrets: readonly string[] = []): Redactor {
  const known = new Set<string>();
  for (const secret of secrets) add(secret);
  return { add, text, pieces, value, hasSecret };

  function add(secret: string) {
    if (secret.length < LEAST_SECRET) return;
    const escaped = JSON.stringify(secret).slice(1, -1);
    for (const form of [secret, encodeURIComponent(secret), escaped]) known.add(form);
  }

  function text(whole: string): string {
    return pieces([whole])[0] ?? "";
  }

  function pieces(parts: readonly string[]): string[] {
    const spans = spansOf(parts.join(""));
    let offset = 0;
    return parts.map((part) => {
      const start = offset;
      offset += part.length;
      return without(part, start, spans);
    });
  }

  function value(given: unknown): unknown {
    if (typeof given === "string") return text(given);
    if (typeof given !== "object" || given === null) return given;
    if (Array.isArray(given)) return given.map(value);
    const entries = Object.entries(given).map(([name, field]) => [
      text(name),
      typeof field === "string" && SECRET_NAME.test(name) ? REDACTED : value(field),
    ]);
    return Object.fromEntries(entries);
  }

  function hasSecret(whole: string): boolean {
    return [...known].some((secret) => whole.includes(secret));
  }

  function spansOf(whole: string): Span[] {
    const found = [...known].flatMap((secret) => occurrences(whole, secret));
    for (const pattern of patterns) found.push(...matches(whole, pattern, () => REDACTED));
    for (const pattern of files) found.push(...matches(whole, pattern, signOfFile));
    return merged(found);
  }
}

function matches(whole: string, pattern: RegExp, signOf: (secret: string) => string): Span[] {
  return [...whole.matchAll(pattern)].map(({ 0: match, index, groups }) => {
    const shown = groups?.["shown"]?.length ?? 0;
    return { start: index + shown, end: index + match.length, sign: signOf(match.slice(shown)) };
  });
}

function signOfFile(file: string): string {
  return file.length < LEAST_FILE ? REDACTED : `[redacted ${hash(file)}]`;
}

function occurrences(whole: string, secret: string): Span[] {
  const found: Span[] = [];
  for (let at = whole.indexOf(secret); at >= 0; at = whole.indexOf(secret, at + secret.length))
    found.push({ start: at, end: at + secret.length, sign: REDACTED });
  return found;
}

/** Sorts spans, and joins those that overlap or touch. The longest one gives its sign. */
function merged(spans: readonly Span[]): Span[] {
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

/** Cuts the spans out of a part that begins at `offset`. The part in which a span begins gets the sign for it. */
function without(part: string, offset: number, spans: readonly Span[]): string {
  const end = offset + part.length;
  let at = offset;
  let kept = "";
  for (const { start: from, end: to, sign } of spans) {
    if (to <= offset || from >= end) continue;
    if (from >= offset) kept += part.slice(at - offset, from - offset) + sign;
    at = Math.min(to, end);
  }
  return kept + part.slice(at - offset);
}
