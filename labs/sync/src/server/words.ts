/** Number of characters that are indexed of a text, and of a word. */
const MAX_TEXT = 20_000;
const MAX_WORD = 40;
/** Maximum number of words of a query. */
const MAX_QUERY_WORDS = 10;
/** Characters of the key before each word. */
const PREFIX = 8;
/** Letters of languages that put no spaces between words. Each pair of them is a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u;
const WORDS = /[\p{L}\p{N}]+/gu;

/** Returns the searchable text of a record: the title of any record, and the text of a finished message. */
export function findText(value: unknown): string {
  const { title, message } = readFields(value);
  const { role, content, outcome } = readFields(message);
  const isFinished = role !== "assistant" || outcome !== undefined;
  const texts = [title, isFinished ? content : undefined].filter((text) => typeof text === "string");
  return texts.join("\n").slice(0, MAX_TEXT);
}

function readFields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Returns the distinct words of a text, for the index of a user. */
export function createWords(key: string, text: string): string {
  const words = new Set(splitWords(text).map((word) => addPrefix(key, word)));
  return [...words].join(" ");
}

/** A query of the full-text index. */
export type WordQuery = {
  /** `"one" "two"*`, as SQLite reads it. */
  readonly match: string;
  /** The first word, for excerpts. */
  readonly first: string;
};

/**
 * Creates the query for records that contain each word. The last word may be a prefix. Returns undefined if no word has
 * two letters.
 */
export function createQuery(key: string, text: string): WordQuery | undefined {
  const words = splitWords(text).slice(0, MAX_QUERY_WORDS);
  const isLong = (word = "") => [...word].length > 1;
  const first = words.find(isLong);
  if (first === undefined) return undefined;
  // one letter is a prefix of too many words
  const end = isLong(words.at(-1)) ? "*" : "";
  return { first, match: `${words.map((word) => `"${addPrefix(key, word)}"`).join(" ")}${end}` };
}

/** Splits a text into lower-case words without accents. */
function splitWords(text: string): string[] {
  const found = foldText(text.normalize("NFKD")).match(WORDS) ?? [];
  return found.flatMap((word) => (UNSPACED.test(word) ? splitPairs(word) : word.slice(0, MAX_WORD)));
}

/** Splits a word without spaces into overlapping pairs of letters. */
function splitPairs(word: string): string[] {
  const letters = [...word];
  return letters.length === 1
    ? letters
    : letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/** Adds a part of the user's key. Two users may share it, so a query also compares the key of the row. */
function addPrefix(key: string, word: string): string {
  return `${key.slice(-PREFIX)}${word}`;
}

/** Maximum length of an excerpt, and of its part before the found word, in characters. */
const EXCERPT = 160;
const BEFORE = 40;

/** Cuts the part of a text around a word. */
export function cutExcerpt(text: string, word: string): string {
  const found = foldText(text).indexOf(word);
  const from = found > BEFORE ? found - BEFORE : 0;
  const cut = text.slice(from, from + EXCERPT);
  const [start, end] = [from > 0 ? "…" : "", from + EXCERPT < text.length ? "…" : ""];
  return `${start}${cut.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "").replace(/\s+/g, " ")}${end}`;
}

/** Converts a text to lower case without accents. */
function foldText(text: string): string {
  return text.replace(/\p{M}+/gu, "").toLowerCase();
}
