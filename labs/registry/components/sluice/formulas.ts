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
const OPEN = /\\\[(?:(?!\n\n)[\s\S])*$|\\\([^\n]*$|(?<![\\$\w])\$(?![\s\d$])(?=[^$\n]*[\\^_{}=])[^$\n]*$/;

/** A text with formulas. */
interface Formulas {
  /** The text with all formulas between `$$`: `\\( \\)`, `\\[ \\]` and `$ $` become that. */
  readonly tex: string;
  /** The text with a placeholder for each formula. */
  readonly withPlaceholders: string;
  readonly hasMath: boolean;
}

/** Shown for a formula without an end: a placeholder while the response streams, or nothing if it was cut. */
type OpenFormula = "placeholder" | "nothing" | "text";

/** Finds the formulas of a response. */
export function findFormulas(text: string, open: OpenFormula): Formulas {
  if (!/\$|\\[([]/.test(text)) return { tex: text, withPlaceholders: text, hasMath: false };
  const parts = text.split(CODE);
  const tex = parts.map((part, at) =>
    at % 2 === 1
      ? part
      : open !== "text" && at === parts.length - 1
        ? replaceOpen(withTeX(part), open === "placeholder" ? formatPlaceholder : () => "")
        : withTeX(part),
  );
  const withPlaceholders = tex.map((part, at) =>
    at % 2 === 1 ? part : part.replace(FORMULAS, (_, it) => formatPlaceholder(it)),
  );
  return {
    tex: tex.join(""),
    withPlaceholders: withPlaceholders.join(""),
    hasMath: tex.some((part) => part.includes("$$")),
  };
}

function withTeX(part: string): string {
  return part
    .replace(/\\\[([\s\S]*?)\\\]/g, (_, tex: string) => `\n$$\n${tex.trim()}\n$$\n`)
    .replace(/\\\((.*?)\\\)/g, (_, tex: string) => `$$${tex.trim()}$$`)
    .replace(INLINE, (_, tex: string) => `$$${tex}$$`);
}

/** Replaces an unfinished formula. */
function replaceOpen(part: string, replaced: (tex: string) => string): string {
  const pieces = part.split("$$");
  // an even number of pieces: the last one is within a formula
  if (pieces.length % 2 === 0) return pieces.slice(0, -1).join("$$") + replaced(pieces.at(-1) ?? "");
  const open = OPEN.exec(part);
  return open ? part.slice(0, open.index) + replaced(open[0]) : part;
}

/** A character that no text contains. Inline code of this character alone is a placeholder. */
const PLACEHOLDER = "\uE000";
const LONGEST = 30;

function formatPlaceholder(tex: string): string {
  if (tex.includes("\n")) return `\n\`\`\`${FORMULA}\n \n\`\`\`\n`;
  const signs = tex.replace(/\\[a-z]+/gi, "x").replace(/[{}^_\s\\]/g, "").length;
  return `\`${PLACEHOLDER.repeat(Math.min(LONGEST, Math.max(1, signs)))}\``;
}

/** Returns the width of a formula's placeholder, in characters; undefined for other code. */
export function getPlaceholderWidth(code: ReactNode): number | undefined {
  return typeof code === "string" && code.startsWith(PLACEHOLDER) ? code.length : undefined;
}
