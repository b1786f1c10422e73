import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/*
 * The built page of the studio (`pnpm build`), read as files: what its policy allows, and what browsers keep.
 */

const dist = fileURLToPath(new URL("../../examples/studio/dist/", import.meta.url));
const html = readFileSync(`${dist}index.html`, "utf8");

test("the policy of the page allows no inline script or style, and no eval", () => {
  const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1]?.replaceAll("&#39;", "'") ?? "";
  expect(policy).toMatch(/^default-src 'self';/);
  expect(policy).toContain("style-src 'self';");
  expect(policy).not.toMatch(/unsafe|script-src/);
  expect(html.match(/<script(?![^>]*\bsrc=)/g)).toBeNull();
});

test("the browser caches files with a hash in their name for a year", () => {
  expect(readFileSync(`${dist}_headers`, "utf8")).toMatch(
    /^\/assets\/\*\n\s+Cache-Control: public, max-age=31536000, immutable$/m,
  );
});
