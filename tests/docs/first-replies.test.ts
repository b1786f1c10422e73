import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createEmulator } from "@sluice/emulator";
import { expect, test } from "vitest";
import { demoPrompts } from "../../examples/studio/demo/prompts.ts";

/* A reader sends the questions of the docs, the README files, the templates and the studio to the emulator first. */

const root = join(import.meta.dirname, "../..");
const emulator = createEmulator({ speed: Number.POSITIVE_INFINITY });

/** Locations of a question: a message, a call that sends one, a command, a quotation. */
const patterns = [
  /role"?: ?["']user["'], "?content"?: ?(["'`])(?<text>(?:(?!\1).)+)\1/g,
  /(?:\.send|\bsend|sluice chat)\(? ?(["'`])(?<text>[A-Z](?:(?!\1).)+)\1/g,
  /[“`](?<text>(?:What|Why|How|Where|Tell me|Explain|Use the tool)\b[^“”`]+)[”`]/g,
];

function listQuestions(text: string): string[] {
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ groups }) => groups?.["text"] ?? ""),
  );
}

const files = execFileSync(
  "git",
  ["ls-files", "README.md", "docs", "examples", "packages/*.md", "packages/create-sluice/templates"],
  { cwd: root, encoding: "utf8" },
)
  .split("\n")
  .filter(
    (name) => /\.(?:md|ts|tsx|vue|svelte|js|html)$/.test(name) && !/\/tests?\/|\.test\.|decisions/.test(name),
  );
const texts = files.map((name) => readFileSync(join(root, name), "utf8"));
const written = texts.flatMap(listQuestions);
const offered = demoPrompts.filter(({ room }) => room === "chat").map(({ prompt }) => prompt);
// skip texts with a placeholder, and remove the fault from others
const questions = [...written, ...offered]
  .filter((text) => !/\$\{|<[a-z]+>|…/.test(text))
  .map((text) => text.replace(/\[\[.*?\]\]/g, "").trim())
  .filter((text) => text !== "");

test("The questions of the docs are found", () => {
  // the docs have fewer questions when they get shorter, but a pattern that finds none is wrong
  expect(patterns.filter((pattern) => !texts.some((text) => text.search(pattern) >= 0))).toEqual([]);
  expect(offered).not.toEqual([]);
  for (const known of ["Why is the sky blue?", "What can you do?", "Explain the quadratic formula", "Hello"])
    expect(questions).toContain(known);
});

test.each([...new Set(questions)])(
  "The emulator has a response in plain sentences to: %s",
  async (content) => {
    const response = await emulator.fetch("https://gateway.test/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "alpha-v4.1-flash", messages: [{ role: "user", content }] }),
    });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    const expected = choices[0]?.message.content ?? "";
    // no heading, table, code, task, or bold text
    expect(expected).not.toMatch(/^#|^\s*\||```|\[[ x]\] |\*\*/m);
    expect(expected).toMatch(/[\p{P}\p{S}]$/u);
    expect(expected).not.toMatch(/nothing yet|undefined|NaN|“”/);
    const isGreeting = /^(?:hi|hello|thanks|continue)\b/i.test(content) && content.length < 20;
    const isAbilities = /you (?:can )?do\b/.test(content);
    if (isGreeting) return expect(expected.length).toBeLessThan(200);
    if (isAbilities) return expect(expected).toContain("[[drop]]");
    const words = content.toLowerCase().match(/\p{L}{3,}/gu) ?? [];
    const subjects = words.filter(
      (word) => !/^(?:what|why|how|tell|the|use|with|about|for|and|can|you|does)$/.test(word),
    );
    const output = expected.toLowerCase();
    expect(
      subjects.length === 0 || subjects.some((word) => output.includes(word)),
      `${content} → ${expected}`,
    ).toBe(true);
  },
);
