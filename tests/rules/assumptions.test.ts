import { globSync, readFileSync } from "node:fs";
import type { ClientOptions } from "@sluice/core";
import { type Assumption, assumptions } from "@sluice/emulator/assumptions";
import { expect, test } from "vitest";

const root = `${import.meta.dirname}/../../`;
const read = (path: string) => readFileSync(root + path, "utf8");
const rows = Object.entries<Assumption>(assumptions);
const cited = new Set(rows.flatMap(([, { rules = [] }]) => rules));

/** Rules of sections 2 and 3 that no gateway can break: bounds of the client, the proxy's contract, plain statements. */
const ownRules = "2.17 2.18 2.30 2.31 2.32 2.33 3.13 3.18 3.22 3.23 3.24".split(" ");

/** Reads the numbered rules of a page. */
function readRules(page: string): (readonly [number: string, text: string])[] {
  return [...page.matchAll(/^- \*\*(\d+\.\d+)\*\* (.*)$/gm)].map(([, number = "", text = ""]) => [
    number,
    text,
  ]);
}

test("each point that the interface leaves open is an assumption", () => {
  const lines = read("docs/spec/gateway.md").split("\n");
  const words = rows.flatMap(([, { open = [] }]) => open);
  const silent = lines.filter((line) => line.includes("not shown"));
  expect(silent.length).toBeGreaterThan(15);
  expect(silent.filter((line) => !words.some((one) => line.includes(one)))).toEqual([]);
  expect(words.filter((one) => !lines.some((line) => line.includes(one)))).toEqual([]);
});

test("each rule about responses, and each assumption before sending, has a row", () => {
  const rules = readRules(read("docs/spec/wire.md"));
  const needed = rules.filter(([number, text]) => /^[23]\./.test(number) || text.includes("Assumption"));
  const missing = needed.map(([number]) => number).filter((number) => !cited.has(number));
  expect(missing).toEqual(ownRules);
  expect([...cited].filter((number) => !rules.some(([known]) => known === number))).toEqual([]);
});

test("each source file of the client that assumes something cites a rule that has a row", () => {
  // the first two are the mechanism, and the last is generated
  const others = /(?:base\/validate|base\/unknown-fields|types\/json-schemas)\.ts$/;
  const files = globSync("packages/core/src/**/*.ts", { cwd: root }).filter((file) => !others.test(file));
  const assuming = files.filter((file) => /\bassum/i.test(read(file)));
  expect(assuming.length).toBeGreaterThan(3);
  const uncited = assuming.filter(
    (file) => ![...read(file).matchAll(/[(]wire, ([\d.]+\d)/g)].some(([, rule = ""]) => cited.has(rule)),
  );
  expect(uncited).toEqual([]);
});

test("each setting of createClient for a gateway that differs belongs to an assumption", () => {
  const settings: Readonly<Record<keyof NonNullable<ClientOptions["gateway"]>, keyof typeof assumptions>> = {
    assetLookup: "asset-lookup",
    includeUsage: "usage-option",
    parseVideoTask: "task-shape",
  };
  for (const [setting, name] of Object.entries(settings))
    expect(assumptions[name].remedy).toContain(`gateway.${setting}`);
});
