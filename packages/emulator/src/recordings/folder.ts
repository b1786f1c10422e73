import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describeThrown } from "@sluice/core/extend";
import { formatRecording, parseRecording, type Recording } from "./recording.js";

/** A recording with the name of its file. */
export interface NamedRecording {
  readonly name: string;
  readonly recording: Recording;
}

/**
 * Reads all recordings of a folder, sorted by name.
 *
 * @throws Error if the folder is empty or can't be read, or a file is invalid. It names the file and the
 * field.
 * @example
 * ```ts
 * const { fetch, misses } = createReplay({ recordings: readRecordings("test/recordings") });
 * ```
 */
export function readRecordings(folder: string): NamedRecording[] {
  const names = listNames(folder);
  if (names.length === 0)
    throw new Error(`${folder} has no recordings. Record some with --record <gateway>.`);
  return names.map((name) => {
    try {
      return { name, recording: parseRecording(readFileSync(join(folder, name), "utf8")) };
    } catch (error) {
      throw new Error(`${join(folder, name)} is not a recording:\n${describeThrown(error)}`);
    }
  });
}

/**
 * Writes a recording into a folder, which is created if it does not exist.
 *
 * @returns the name of the file, `0001-post-v1-chat-completions.json`
 * @example
 * ```ts
 * const recorder = createRecorder({
 *   gateway: "https://gateway.example.com",
 *   save: (recording) => writeRecording("test/recordings", recording),
 * });
 * ```
 */
export function writeRecording(folder: string, recording: Recording): string {
  mkdirSync(folder, { recursive: true });
  const last = Math.max(0, ...listNames(folder).map((name) => Number.parseInt(name, 10) || 0));
  const { method, path } = recording.request;
  const slug = `${method} ${path}`
    .replace(/\?.*/, "")
    .replace(/[^a-z0-9]+/gi, "-")
    .replace(/-+$/, "")
    .toLowerCase();
  const name = `${String(last + 1).padStart(4, "0")}-${slug.slice(0, 80)}.json`;
  writeFileSync(join(folder, name), formatRecording(recording), { flag: "wx" });
  return name;
}

function listNames(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort();
}
