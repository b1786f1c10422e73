import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Not among the pages: who packs a folder meanwhile finds nothing in it that is gone at once. */
const draft = join(dirname(dirname(import.meta.dirname)), `node_modules/.page-${process.pid}.md`);

/** Writes a page, unless it has this text. Another process that reads it meanwhile gets the old page or the new one. */
export function writePage(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(draft, text);
  renameSync(draft, path);
}
