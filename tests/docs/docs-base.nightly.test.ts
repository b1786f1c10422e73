import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { buildSiteAt } from "../support/docs-site.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The site, built for a host that serves it below a path. */

const base = "/some/path/";
const folder = createTemporaryFolder("docs-base");
const out = relative(join(import.meta.dirname, "../../docs"), folder);

beforeAll(() => buildSiteAt(base, out), 600_000);

test("Each page, script, style and image exists below the path", () => {
  const files = new Set(globSync("**/*.*", { cwd: folder }).map((path) => path.replaceAll("\\", "/")));
  const pages = [...files].filter((path) => path.endsWith(".html"));
  expect(pages.length).toBeGreaterThan(60);
  const broken = pages.flatMap((page) =>
    listLinks(readFileSync(join(folder, page), "utf8"))
      .map((link) => [link, new URL(link, `https://docs.test${base}${page}`)] as const)
      .filter(([, { pathname }]) => !pathname.startsWith(base) || !isThere(pathname.slice(base.length)))
      .map(([link]) => `${page} → ${link}`),
  );
  expect(broken).toEqual([]);

  function isThere(path: string): boolean {
    return [path, `${path}index.html`, `${path}.html`].some((name) => files.has(decodeURI(name)));
  }
});

test("The live examples load their Service Worker from below the path", () => {
  expect(readFileSync(join(folder, "service-worker.js"), "utf8").length).toBeGreaterThan(1000);
  const scripts = globSync("assets/**/*.js", { cwd: folder }).map((path) =>
    readFileSync(join(folder, path), "utf8"),
  );
  const code = scripts.join("\n");
  expect(code).toContain("service-worker.js");
  // the only code that joins the path to addresses
  expect(code).toContain(base);
  expect(code).not.toMatch(/["'`]\/service-worker\.js/);
});

/** Addresses on the same host that a page loads or leads to. */
function listLinks(html: string): string[] {
  const links = [...html.matchAll(/<(?:a|link|script|img)\s[^>]*?(?:href|src)="([^"]+)"/g)];
  return [...new Set(links.map(([, link = ""]) => link))].filter((link) => !/^(?:[a-z]+:|#|\/\/)/.test(link));
}
