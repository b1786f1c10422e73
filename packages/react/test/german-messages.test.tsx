import { globSync, readFileSync } from "node:fs";
import { describeError, type ErrorMessages, errorMessages as english } from "@sluice/react";
import { errorMessages as german } from "@sluice/react/de";
import { expect, test } from "vitest";

/** All texts below a value, by their path: `offline.title`. */
function collectTexts(value: unknown, path = ""): [string, string][] {
  if (typeof value === "string") return [[path, value]];
  return Object.entries(value as object).flatMap(([name, part]) =>
    collectTexts(part, path ? `${path}.${name}` : name),
  );
}

test("the German texts contain all texts of the English ones, translated", () => {
  const originals = new Map(collectTexts(english));
  const translated = collectTexts(german);
  expect(translated.map(([path]) => path).sort()).toEqual([...originals.keys()].sort());
  for (const [path, text] of translated) {
    const original = originals.get(path) ?? "";
    expect.soft(text === "", path).toBe(original === "");
    if (text !== "") expect.soft(text, path).not.toBe(original);
    const findPlaceholders = (words: string) => [...words.matchAll(/\{\w+\}/g)].map(String).sort();
    expect.soft(findPlaceholders(text), path).toEqual(findPlaceholders(original));
    expect.soft(text, path).not.toMatch(/\b(du|dein\w*|dich|Sie|Ihre?\w*)\b/);
  }
});

test("a German error is as short as an English one: five words and twelve, with the bill", () => {
  const { mayBeBilled, attachments: _, ...kinds } = german;
  const count = (text: string) => text.split(" ").length;
  for (const [kind, { title, hint }] of Object.entries(kinds)) {
    expect.soft(count(title), `${kind}: ${title}`).toBeLessThanOrEqual(5);
    expect.soft(count(`${hint} ${mayBeBilled}`), `${kind}: ${hint}`).toBeLessThanOrEqual(12);
  }
});

test("an error is described in German", () => {
  const { title } = describeError(new DOMException("", "AbortError"), { messages: german });
  expect(title).toBe("Angehalten");
});

test("a set of texts that lacks a text does not compile", () => {
  const { offline, ...rest } = german;
  // @ts-expect-error `offline` is missing
  const errors: ErrorMessages = rest;
  expect([errors, offline.title]).toHaveLength(2);
});

test("no other module imports the German texts, so pages load them only on import", () => {
  const folder = `${import.meta.dirname}/../src/`;
  const sources = globSync("**/*.{ts,tsx}", { cwd: folder });
  expect(sources).toContain("de.ts");
  const importers = sources.filter((path) =>
    /from "[^"]*\/de\.js"/.test(readFileSync(folder + path, "utf8")),
  );
  expect(importers).toEqual([]);
});
