import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { AssetRequest, ImageRequest, VideoRequest } from "@sluice/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Work } from "../../examples/studio/src/inspector/feed.ts";
import { proxyAt } from "../../examples/studio/src/inspector/snippets/parts.ts";
import { snippet, type Target } from "../../examples/studio/src/inspector/snippets/snippet.ts";
import { type QuickStudio, startQuickStudio } from "../support/quick-studio.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The code that the inspector offers to copy, run as it stands: against the studio's proxy, which adds the key.
 */

const folder = `${createTemporaryFolder("snippets")}/`;
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
const image = {
  model: "gamma-image-5-0-260128",
  prompt: 'A "reef"\nat dawn\'s light',
} satisfies ImageRequest;
const video = {
  model: "beta3.0-video",
  input: {
    prompt: "Waves",
    media: [{ type: "first_frame", url: `data:image/png;base64,${"A".repeat(900)}` }],
  },
  parameters: { resolution: "720P", duration: 5 },
} satisfies VideoRequest;
const asset: AssetRequest = {
  model: "gamma-asset",
  GroupId: "studio",
  Name: "hero.png",
  AssetType: "Image",
  URL: new Blob(["x"], { type: "image/png" }),
};

const works: Readonly<Record<string, Work>> = {
  chat: { room: "chat", target: { model: "gamma-chat-1-6-251015" } },
  "chat-with-all": {
    room: "chat",
    target: {
      model: "alpha-v4.1-flash",
      params: {
        thinking: { type: "enabled" },
        temperature: 0.7,
        max_tokens: 900,
        stream_options: { include_usage: true },
      },
    },
    question: "Say \"it's 5 o'clock\" in $HOME, `ways` \\ lines\nand $(pwd)",
    instructions: "You are kind.",
    tools: ["roll_dice", "save_note"],
  },
  compare: {
    room: "chat",
    target: { model: "gamma-chat-1-6-251015" },
    compared: { model: "delta-5.3", params: { reasoning_effort: "low" } },
    tools: ["roll_dice"],
  },
  images: { room: "images", request: image },
  videos: { room: "videos", request: video },
  assets: { room: "assets", request: asset },
};

let studio: QuickStudio;

beforeAll(async () => {
  studio = await startQuickStudio({ speed: Number.POSITIVE_INFINITY });
});
afterAll(() => studio.close());

/** Writes a snippet into a file of its own, as somebody who copied it would. */
function copy(name: string, target: Target, extension: string): string {
  const path = `${folder}${name}-${target}.${extension}`;
  writeFileSync(path, snippet(works[name] as Work, target, proxyAt(studio.address)));
  return path;
}

function run(program: string, args: readonly string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (piece) => {
      text += piece;
    });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, text })));
}

test("the React, Worker and script snippets have no type errors", { timeout: 60_000 }, () => {
  const files = Object.keys(works).flatMap((name) => [
    copy(name, "react", "tsx"),
    copy(name, "worker", "ts"),
    copy(name, "script", "ts"),
  ]);
  const options = { noEmit: true, module: "esnext", moduleResolution: "bundler", types: ["node", "react"] };
  writeFileSync(
    `${folder}tsconfig.json`,
    JSON.stringify({
      extends: "../../../tsconfig.base.json",
      compilerOptions: { ...options, jsx: "react-jsx" },
      files,
    }),
  );
  const { stdout, stderr } = spawnSync("tsc", ["-p", folder], { encoding: "utf8" });
  expect(stdout + stderr).toBe("");
});

test("all but long strings fits the panel that shows it", () => {
  const targets = ["react", "script", "worker"] as const;
  const wide = Object.values(works).flatMap((work) =>
    targets.flatMap((target) =>
      snippet(work, target, proxyAt("http://127.0.0.1:8787"))
        .split("\n")
        .filter((line) => line.length > 54 && !/"(?:[^"\\]|\\.){30,}"/.test(line)),
    ),
  );
  expect(wide).toEqual([]);
});

test.each([
  ["images", /^http/],
  ["videos", /^Keep this: .*\nhttp/],
  ["assets", /^asset:\/\//],
])("the script of %s runs as it was copied", async (name, printed) => {
  const { code, text } = await run(process.execPath, [copy(name, "script", "ts")]);
  expect(text).toMatch(printed);
  expect(code).toBe(0);
});

test.skipIf(!hasCurl).each([
  ["chat", /data: \[DONE\]/],
  ["images", /"url":\s*"http/],
  ["videos", /task/],
  ["assets", /"Id"/],
])("the curl command of %s runs as it was copied", async (name, printed) => {
  const { text } = await run("sh", [copy(name, "curl", "sh")]);
  expect(text).toMatch(printed);
});

test("a question with quotes, line ends and signs of the shell arrives as it was written", async () => {
  studio.emulator.reset();
  const { text } = await run(process.execPath, [copy("chat-with-all", "script", "ts")]);
  expect(text).toMatch(/\n(complete|tool-calls)/);
  if (hasCurl) await run("sh", [copy("chat-with-all", "curl", "sh")]);
  const asked = studio.emulator.requests.map(({ body }) => (body as { messages: unknown[] }).messages.at(-1));
  const { question } = works["chat-with-all"] as { question: string };
  expect(asked).toEqual(asked.map(() => ({ role: "user", content: question })));
  expect(asked).toHaveLength(hasCurl ? 2 : 1);
});
