import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeThrown } from "@sluice/core/internal";
import { readTape, type Tape, writeTape } from "./tape.js";

/** A tape with the name of its file. */
export interface NamedTape {
  readonly name: string;
  readonly tape: Tape;
}

/**
 * Reads all tapes of a folder, in the order of their names.
 *
 * @throws Error if the folder has no tapes or can't be read, or a file is no tape; it names the file and the field.
 * @example
 * ```ts
 * const { fetch, misses } = createReplay({ tapes: readTapes("test/tapes") });
 * ```
 */
export function readTapes(folder: string): NamedTape[] {
  const names = namesIn(folder);
  if (names.length === 0) throw new Error(`${folder} has no tapes. Record some with --record <gateway>.`);
  return names.map((name) => {
    try {
      return { name, tape: readTape(readFileSync(join(folder, name), "utf8")) };
    } catch (error) {
      throw new Error(`${join(folder, name)} is no tape:\n${describeThrown(error)}`);
    }
  });
}

/**
 * Creates a function that adds tapes to a folder and returns the name of each, `0001-post-v1-chat-completions.json`.
 *
 * @example
 * ```ts
 * const save = createTapeFolder("test/tapes");
 * const recorder = createTapeRecorder({ gateway: "https://gateway.example.com", save });
 * ```
 */
export function createTapeFolder(folder: string): (tape: Tape) => string {
  mkdirSync(folder, { recursive: true });
  let count = Math.max(0, ...namesIn(folder).map((name) => Number.parseInt(name, 10) || 0));
  return (tape) => {
    const { method, path } = tape.request;
    const slug = `${method} ${path}`
      .replace(/\?.*/, "")
      .replace(/[^a-z0-9]+/gi, "-")
      .replace(/-+$/, "")
      .toLowerCase();
    const name = `${String(++count).padStart(4, "0")}-${slug.slice(0, 80)}.json`;
    writeFileSync(join(folder, name), writeTape(tape), { flag: "wx" });
    return name;
  };
}

function namesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort();
}
