import { readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";

const docs = dirname(import.meta.dirname);

/** The source of a page as Markdown that needs no site: without front matter, components, pictures and HTML. */
export function plainMarkdown(path: string): string {
  const folder = dirname(join(docs, path));
  return readFileSync(join(docs, path), "utf8")
    .replace(/^---\n.*?\n---\n+/s, "")
    .replace(/<!-- ?@include: (\S+) ?-->/g, (_, file: string) => readFileSync(join(folder, file), "utf8"))
    .replace(/^<<< (\S+)(?: \[.*\])?$/gm, (_, file: string) =>
      fenced(readFileSync(join(folder, file), "utf8"), extname(file).slice(1)),
    )
    .replace(/^:{3,}.*\n+/gm, "")
    .replace(/^<pre class="signature".*?<code>(.*?)<\/code><\/pre>$/gms, (_, html: string) =>
      fenced(readText(html)),
    )
    .replace(/^<\/?LiveExample.*?>\n/gm, "")
    .replace(/^!\[.*?\]\(.*?\)\n+/gm, "")
    .replace(/ \{:#.*?\}$/gm, "");
}

const fenced = (code: string, language = "ts") => `\`\`\`${language}\n${code.trim()}\n\`\`\``;

const signs: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&" };

function readText(html: string): string {
  return html.replace(/<[^>]*>/g, "").replace(/&(?:lt|gt|amp);/g, (sign) => signs[sign] ?? sign);
}
