import { readFileSync } from "node:fs";
import ts from "typescript";
import { createSlug } from "../slug.ts";
import { repositoryFolder } from "./entries.ts";
import { checker } from "./program.ts";

/** Finds the page and anchor of an exported name, if there is one. */
export type Find = (name: string) => string | undefined;

const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
export const escapeHTML = (text: string) =>
  text.replace(/[&<>]/g, (sign) => escaped[sign as keyof typeof escaped]);

/** Converts source text to HTML with links for exported names. */
export function codeBlock(code: string, find: Find): string {
  const linked = escapeHTML(code).replace(/\b[A-Z]\w+\b/g, (name) => {
    const link = find(name);
    return link ? `<a href="${link}">${name}</a>` : name;
  });
  return `<pre class="signature" tabindex="0" v-pre><code>${linked}</code></pre>`;
}

/** The first sentence of a doc comment, as plain text. */
export function readFirstSentence(symbol: ts.Symbol): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker)).replace(/\s+/g, " ");
  const first = /^.*?[.:](?= [A-Z`]|$)/.exec(text)?.[0] ?? text;
  return writeMarkdown(first, () => undefined).replace(/\(spec, ([^()]+)\)/g, linkToSpec);
}

/** The doc comment of an option as one cell of a table, with its default. Examples are on the page of its type. */
export function docCell(symbol: ts.Symbol, find: Find): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const parts = symbol
    .getJsDocTags(checker)
    .filter(({ name }) => name === "default")
    .map(({ text: value }) => ts.displayPartsToString(value).trim())
    .map((value) => `Default: ${/^[`A-Za-z]/.test(value) ? value : `\`${value}\``}`);
  const all = writeMarkdown([text.replace(/```.*?```/gs, ""), ...parts].join(" "), find);
  return all
    .replace(/\s+/g, " ")
    .replace(/(?<!\\)\|/g, "\\|")
    .replace(/\(spec, ([^()]+)\)/g, linkToSpec);
}

/** The doc comment of a name as Markdown: its text, default, parameters, errors and examples. */
export function writeDoc(symbol: ts.Symbol, find: Find): string {
  const text = writeMarkdown(ts.displayPartsToString(symbol.getDocumentationComment(checker)), find);
  const tags = symbol.getJsDocTags(checker).map(({ name, text: parts }) => ({
    name,
    text: writeMarkdown(ts.displayPartsToString(parts).trim(), find),
  }));
  const all = (name: string) => tags.flatMap((tag) => (tag.name === name ? [tag.text] : []));
  const parts = [
    text,
    ...all("deprecated").map((note) => `**Deprecated.** ${note}`),
    ...all("default").map((value) => `Default: ${/^[`A-Za-z]/.test(value) ? value : `\`${value}\``}`),
    all("param")
      .map((line) => line.replace(/^(\S+)\s+(?:- )?/, "- `$1`: "))
      .join("\n"),
    ...all("returns").map((value) => `**Returns** ${value}`),
    all("throws")
      .map((error) => error.replace(/^\{(\w+)\}/, (_, name: string) => linkTo(name, find)))
      .map((error) => `- Throws ${error}`)
      .join("\n"),
    ...all("example"),
  ];
  return parts
    .filter(Boolean)
    .join("\n\n")
    .replace(/\(spec, ([^()]+)\)/g, linkToSpec);
}

const spec = readFileSync(`${repositoryFolder}/docs/spec/gateway.md`, "utf8");
const headings = new Map(
  [...spec.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => [
    heading.replaceAll("`", ""),
    createSlug(heading),
  ]),
);

/** Links "(spec, Errors)" to the section of the spec. */
function linkToSpec(text: string, section: string): string {
  const slug = headings.get(section.replaceAll("`", "").replace(/\s+/g, " "));
  return slug ? `([spec](../spec/gateway.md#${slug}), ${section})` : text;
}

function linkTo(name: string, find: Find): string {
  const link = find(name.split(".")[0] ?? "");
  return link ? `[\`${name}\`](./${link.replace(".html", ".md")})` : `\`${name}\``;
}

const CODE = /(```.*?```|`[^`]*`)/gs;

/** Doc text as Markdown for the site: links work, and `<` outside code is text. */
function writeMarkdown(text: string, find: Find): string {
  return text
    .split(CODE)
    .map((piece, at) => (at % 2 === 1 ? piece : linkAll(piece)))
    .join("");

  function linkAll(piece: string): string {
    return piece
      .replace(/</g, "&lt;")
      .replace(/\{@link\s+([\w.]+)\s*\}/g, (_, name: string) => linkTo(name, find))
      .replace(/\{\{/g, "&#123;&#123;");
  }
}
