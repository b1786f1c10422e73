import type { ReactNode } from "react";

/** Language of the code block that replaces a formula before it is rendered. */
export const FORMULA = "formula-placeholder";

/** Code, where a `$` or a `\\(` means nothing. */
const CODE = /(```[\s\S]*?(?:```|$)|`[^`\n]*`)/;
/** A formula between single dollars: no space inside them, and no price. */
const INLINE = /(?<![\\$\w])\$(?![\s$])([^$\n]*?[^\s$\\])\$(?![\d$])/g;
/** A formula between `$$`. */
const FORMULAS = /\$\$([\s\S]*?)\$\$/g;
/** An unfinished formula at the end of the text. */
const UNFINISHED =
  /\\\[(?:(?!\n\n)[\s\S])*$|\\\([^\n]*$|(?<![\\$\w])\$(?![\s\d$])(?=[^$\n]*[\\^_{}=])[^$\n]*$/;

/** A text with formulas. */
interface Formulas {
  /** The text with all formulas between `$$`: `\\( \\)`, `\\[ \\]` and `$ $` become that. */
  readonly tex: string;
  /** The text with a placeholder for each formula. */
  readonly withPlaceholders: string;
  readonly hasMath: boolean;
}

/** Replacement of an unfinished formula: a placeholder while the response streams, nothing if it was cut, or its text. */
type UnfinishedFormula = "placeholder" | "nothing" | "text";

/** Finds the formulas of a response. */
export function findFormulas(text: string, unfinished: UnfinishedFormula): Formulas {
  if (!/\$|\\[([]/.test(text)) return { tex: text, withPlaceholders: text, hasMath: false };
  // every second part is code
  const parts = text.split(CODE);
  const isCode = (index: number) => index % 2 === 1;
  const replaceUnfinished = unfinished === "placeholder" ? formatPlaceholder : () => "";
  const tex = parts.map((part, index) => {
    if (isCode(index)) return part;
    const isLast = index === parts.length - 1;
    const converted = convertDelimiters(part);
    return isLast && unfinished !== "text" ? replaceOpen(converted, replaceUnfinished) : converted;
  });
  const withPlaceholders = tex.map((part, index) =>
    isCode(index) ? part : part.replace(FORMULAS, (_, formula) => formatPlaceholder(formula)),
  );
  return {
    tex: tex.join(""),
    withPlaceholders: withPlaceholders.join(""),
    hasMath: tex.some((part) => part.includes("$$")),
  };
}

/** Writes all formulas between `$$`. */
function convertDelimiters(part: string): string {
  return part
    .replace(/\\\[([\s\S]*?)\\\]/g, (_, tex: string) => `\n$$\n${tex.trim()}\n$$\n`)
    .replace(/\\\((.*?)\\\)/g, (_, tex: string) => `$$${tex.trim()}$$`)
    .replace(INLINE, (_, tex: string) => `$$${tex}$$`);
}

/** Replaces an unfinished formula. */
function replaceOpen(part: string, replace: (tex: string) => string): string {
  const pieces = part.split("$$");
  // an even number of pieces: the last one is within a formula
  if (pieces.length % 2 === 0) return pieces.slice(0, -1).join("$$") + replace(pieces.at(-1) ?? "");
  const unfinished = UNFINISHED.exec(part);
  return unfinished ? part.slice(0, unfinished.index) + replace(unfinished[0]) : part;
}

/** A character that no text contains. Inline code of this character alone is a placeholder. */
const PLACEHOLDER = "\uE000";
/** Maximum width of a placeholder, in characters. */
const MAX_WIDTH = 30;

function formatPlaceholder(tex: string): string {
  if (tex.includes("\n")) return `\n\`\`\`${FORMULA}\n \n\`\`\`\n`;
  const characters = tex.replace(/\\[a-z]+/gi, "x").replace(/[{}^_\s\\]/g, "").length;
  return `\`${PLACEHOLDER.repeat(Math.min(MAX_WIDTH, Math.max(1, characters)))}\``;
}

/** Returns the width of a formula's placeholder, in characters; undefined for other code. */
export function getPlaceholderWidth(code: ReactNode): number | undefined {
  return typeof code === "string" && code.startsWith(PLACEHOLDER) ? code.length : undefined;
}
