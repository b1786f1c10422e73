import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";

/*
 * The built page of the studio (`pnpm build`), read as files: what a visitor waits for, and what the policy allows.
 */

const dist = new URL("../../examples/studio/dist/", import.meta.url).pathname;
const html = readFileSync(`${dist}index.html`, "utf8");
const scripts = readdirSync(`${dist}assets`).filter((name) => name.endsWith(".js"));
const read = (name: string) => readFileSync(`${dist}assets/${name}`, "utf8");

/** The scripts that load before anything of `names` runs: theirs, and all that they import at once. */
function closureOf(names: readonly string[], known = new Set<string>()): ReadonlySet<string> {
  for (const name of names.filter((it) => !known.has(it))) {
    known.add(name);
    const imported = [...read(name).matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)];
    closureOf(
      imported.map(([, file]) => file as string),
      known,
    );
  }
  return known;
}

test("the scripts that the first paint waits for are at most 120 kB, compressed", () => {
  const entries = [...html.matchAll(/assets\/([^"]+\.js)"/g)].map(([, name]) => name as string);
  const room = scripts.filter((name) => name.startsWith("chat-room-"));
  expect(entries.length).toBeGreaterThan(0);
  expect(room).toHaveLength(1);
  const sizes = [...closureOf([...entries, ...room])].map((name) => gzipSync(read(name)).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(120_000);
});

test("the policy of the page allows no inline script or style, and no eval", () => {
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1]?.replaceAll("&#39;", "'") ?? "";
  expect(policy).toMatch(/^default-src 'self';/);
  expect(policy).toContain("style-src 'self';");
  expect(policy).not.toMatch(/unsafe|script-src/);
  expect(html.match(/<script(?![^>]*\bsrc=)/g)).toBeNull();
});

test("files with a hash in their name are kept for a year", () => {
  expect(readFileSync(`${dist}_headers`, "utf8")).toMatch(
    /^\/assets\/\*\n\s+Cache-Control: public, max-age=31536000, immutable$/m,
  );
});
