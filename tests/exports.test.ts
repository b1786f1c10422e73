import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/* The names that an app can import from an entry, types included. */

test.each(["core/src/entries/index.ts", "react/src/app/index.ts"])(
  "%s lists each name once and by hand",
  (path) => {
    const source = indexOf(path);
    const listed = namesIn(source);
    expect(listed.length).toBeGreaterThan(10);
    expect(new Set(listed).size).toBe(listed.length);
    const rest = source.replace(/^export (?:type )?\{[^}]*\} from ".*";$/gm, "").replace(/\/\/.*$/gm, "");
    expect(rest.trim()).toBe("");
  },
);

function indexOf(path: string): string {
  return readFileSync(new URL(`../packages/${path}`, import.meta.url), "utf8");
}

function namesIn(source: string): string[] {
  return [...source.matchAll(/^export (?:type )?\{([^}]*)\} from ".*";$/gm)]
    .flatMap(([, list = ""]) => list.split(","))
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
}
