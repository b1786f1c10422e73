// a space belongs to the next token; emoji sequences are one token, so a delta never splits them
const TOKEN =
  /\s*(?:\p{Extended_Pictographic}(?:\ufe0f|\u200d|\p{Emoji_Modifier}|\p{Extended_Pictographic})*|\p{Script=Han}|[\p{L}\p{M}\p{N}]{1,6}|(?:(?!\p{Extended_Pictographic})[^\s\p{L}\p{M}\p{N}]){1,4})|\s+/gu;

/**
 * Cuts `text` into tokens: up to six letters, one Han character, one emoji, or up to four other characters, each with
 * the space before it. The rule is an assumption. The joined tokens equal the text.
 */
export function tokenize(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

export function countTokens(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(TOKEN)) count++;
  return count;
}
