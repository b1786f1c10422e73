import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { aliasSources } from "./source-aliases.ts";

/*
 * node bench/worker-sizes.ts: prints the upload of `wrangler deploy --dry-run` for each example, its warnings, and
 * the size of each part. Build the packages first.
 */

const WORKERS = [
  ["template", "worker", "wrangler.jsonc"],
  ["durable", "worker", "wrangler.durable.jsonc"],
  ["studio", "studio", "wrangler.jsonc"],
  ["worker-client", "worker-client", "wrangler.jsonc"],
] as const;

/** The parts of a Worker, by the paths of their sources. */
const PARTS: readonly (readonly [name: string, paths: RegExp])[] = [
  ["`jose`: signatures and claims of tokens", /\/jose\//],
  ["sign-in (`/auth`)", /worker-proxy\/src\/auth/],
  ["budgets (`@sluice/durable`)", /durable\/src\/budgets/],
  ["streams and idempotency (`@sluice/durable`)", /durable\/src\/(?:streams|idempotency|jobs)/],
  ["watched videos (`@sluice/durable`)", /durable\/src\/(?:videos|webhooks)/],
  ["the host, which all plugins share (`@sluice/durable`)", /durable\/src\/host/],
  ["the checks: paths, origins, users, models, fields, caps, ids", /worker-proxy\/src\/checks/],
  ["the gateway: passing responses on, reading them, keys, polls", /worker-proxy\/src\/(?:gateway|reading)/],
  ["refusals in words, log lines, `/health`", /worker-proxy\/src\/(?:refusals|health)/],
  ["options and their checks", /worker-proxy\/src/],
  ["`@sluice/core`: events of streams, errors in them, names of options", /core\/src/],
  ["the example itself, and what bundling adds", /./],
];

const tables = new Map<string, ReadonlyMap<string, number>>();

for (const [name, folder, config] of WORKERS) {
  const { code, map, warnings } = dryRun(folder, config);
  const compressed = gzipSync(code, { level: 9 }).byteLength;
  const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`;
  console.log(`${name}: ${kB(code.byteLength)}, ${kB(compressed)} compressed, ${warnings} warnings`);
  tables.set(name, measureParts(String(code), map, compressed));
}
console.log(`\n${formatTable(["template", "durable"])}`);

/** Bundles an example as wrangler does. */
function dryRun(folder: string, config: string) {
  const cwd = fileURLToPath(new URL(`../examples/${folder}`, import.meta.url));
  const out = mkdtempSync(join(tmpdir(), "sluice-size-"));
  // the studio's page is not part of its Worker
  const site = join(cwd, "dist");
  const isEmpty = folder === "studio" && !existsSync(site);
  if (isEmpty) mkdirSync(site);
  const aliases = aliasSources("worker-proxy", "durable", "core").join(" ");
  const command = `npx --no-install wrangler deploy --dry-run --config ${config} --outdir ${out} ${aliases} 2>&1`;
  const env = { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false" };
  const printed = execFileSync("sh", ["-c", command], { cwd, env, encoding: "utf8" });
  if (isEmpty) rmSync(site, { recursive: true });
  const file = readdirSync(out).find((entry) => entry.endsWith(".js")) ?? "";
  const code = readFileSync(join(out, file));
  const map = JSON.parse(readFileSync(join(out, `${file}.map`), "utf8"));
  rmSync(out, { recursive: true });
  return { code, map, warnings: printed.match(/WARNING/g)?.length ?? 0 };
}

/** Divides the compressed bytes between the parts, by the letters that each has in the bundle. */
function measureParts(
  code: string,
  map: ConstructorParameters<typeof SourceMap>[0],
  compressed: number,
): ReadonlyMap<string, number> {
  const sources = new SourceMap(map);
  const letters = new Map<string, number>();
  for (const [nth, line] of code.split("\n").entries())
    for (let column = 0; column < line.length; column += 1) {
      const entry = sources.findEntry(nth, column);
      const source = "originalSource" in entry ? entry.originalSource : "";
      const name = PARTS.find(([, paths]) => paths.test(`/${source}`))?.[0] ?? "";
      letters.set(name, (letters.get(name) ?? 0) + 1);
    }
  return new Map([...letters].map(([name, count]) => [name, (count / code.length) * compressed]));
}

function formatTable(names: readonly string[]): string {
  const kB = (bytes = 0) => (bytes === 0 ? "" : `${(bytes / 1000).toFixed(1)} kB`);
  const parts = PARTS.map(([part]) => [part, ...names.map((name) => kB(tables.get(name)?.get(part)))]);
  const sums = names.map((name) => kB([...(tables.get(name)?.values() ?? [])].reduce((a, b) => a + b, 0)));
  const head = ["compressed", ...names];
  const rows = [head, head.map(() => "---"), ...parts, ["in all", ...sums]];
  return rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
