import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Reads the names, without `.md`, and the texts of all files of `replies/`. */
export function readReplyFiles(): readonly (readonly [name: string, text: string])[] {
  const folder = join(import.meta.dirname, "replies");
  return readdirSync(folder)
    .filter((name) => name.endsWith(".md"))
    .map((name) => [name.slice(0, -3), readFileSync(join(folder, name), "utf8")]);
}
