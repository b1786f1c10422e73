const DEFINITION = /^ {0,3}\[[^\]]+\]:/m;
const FENCE = /^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}|~{3,})/;
const STARTS_BLOCK = /^(?![-*+>|]|\d+[.)])\S/;

/**
 * Splits Markdown where a new block certainly begins, so that while an answer grows only its last block is parsed
 * again, and an answer of n characters costs n and not n². Each part means alone what it means in the whole.
 */
export function splitBlocks(text: string): string[] {
  // what a link or a footnote refers to may be in any other block
  if (DEFINITION.test(text)) return [text];
  const blocks: string[] = [];
  let start = 0;
  let at = 0;
  let fence: string | undefined;
  let afterBlank = false;
  for (const line of text.split("\n")) {
    if (afterBlank && fence === undefined && STARTS_BLOCK.test(line)) {
      blocks.push(text.slice(start, at));
      start = at;
    }
    fence = fenceAfter(line, fence);
    afterBlank = line.trim() === "";
    at += line.length + 1;
  }
  return [...blocks, text.slice(start)];
}

/** The fence that is open after `line`, given the one before it. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const mark = FENCE.exec(line)?.[1];
  if (open === undefined) return mark;
  const closes = mark?.startsWith(open) && line.trim() === mark;
  return closes ? undefined : open;
}
