import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";

/* What the compiler says of the mistakes that everyone makes first: short, with the way out. */

const root = new URL("..", import.meta.url).pathname;
const folder = `${root}tests/.tmp/type-errors`;

const before = `
import { type ChatModel, type Client, createChatStore, createVideoTask, generateImages, streamChat } from "@sluice/core";
declare const client: Client;
declare const text: string;
declare const known: ChatModel;
const messages = [{ role: "user" as const, content: "Hi" }];
const wide = [{ role: "user", content: "Hi" }];
`;
const mistakes: readonly (readonly [code: string, ...said: string[]])[] = [
  [
    'streamChat(client, { model: "gpt-4o", messages });',
    `Type '"gpt-4o"' is not assignable to type '"alpha-v4.1-flash" | "delta-5.3" | "gamma-chat-1-6-251015" | UncheckedModel'.`,
  ],
  [
    "streamChat(client, { model: text, messages });",
    `Type 'string' is not assignable to type '"alpha-v4.1-flash" | "delta-5.3" | "gamma-chat-1-6-251015" | UncheckedModel'.`,
  ],
  [
    'generateImages(client, { model: "dall-e", prompt: "A reef" });',
    `Type '"dall-e"' is not assignable to type '"gamma-image-4-0-250828" | "gamma-image-5-0-260128" | UncheckedModel'.`,
  ],
  [
    'createVideoTask(client, { model: "sora", input: { prompt: "A reef" } });',
    `Type '"sora"' is not assignable to type '"beta3.0-video" | "beta3.0-video-prime" | "gamma-video-1-0-pro-fast-251015" | "gamma-video-1-5-pro-251215" | "gamma-video-2.0" | "gamma-video-fast" | UncheckedModel'.`,
  ],
  [
    'streamChat(client, { model: "delta-5.3", messages, maxTokens: 5 });',
    "Object literal may only specify known properties, but 'maxTokens' does not exist in type 'DeltaChatRequest'. Did you mean to write 'max_tokens'?",
  ],
  [
    'streamChat(client, { model: "delta-5.3", messages, reasoning_effort: "none" });',
    `Type '"none"' is not assignable to type '"high" | "low" | "max" | undefined'.`,
  ],
  [
    'streamChat(client, { model: "delta-5.3", messages: wide });',
    "Type '{ role: string; content: string; }[]' is not assignable to type 'readonly TextMessage[]'.",
    "Type '{ role: string; content: string; }' is not assignable to type 'TextMessage'.",
    "Property 'tool_call_id' is missing in type '{ role: string; content: string; }' but required in type 'ToolMessage'.",
  ],
  [
    "createChatStore(client, { model: text });",
    "Argument of type '{ model: string; }' is not assignable to parameter of type '(() => ChatStoreOptions<unknown>) | ChatStoreOptions<unknown>'.",
    "Type '{ model: string; }' is not assignable to type '(() => ChatStoreOptions<unknown>) | (UncheckedTarget & ChatBehaviour<unknown>)'.",
    "Type '{ model: string; }' is not assignable to type 'UncheckedTarget & ChatBehaviour<unknown>'.",
    "Property 'params' is missing in type '{ model: string; }' but required in type 'UncheckedTarget'.",
  ],
  ["createChatStore(client, { model: known, params: { max_tokens: 500 } });"],
  ["streamChat(client, { model: known, messages, max_tokens: 500 });"],
];
/** Diagnostics by the number of their mistake. */
const said = new Map<number, string[]>();

beforeAll(async () => {
  mkdirSync(folder, { recursive: true });
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    types: [],
    paths: { "@sluice/core": ["../../../packages/core/src/index.ts"] },
  };
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ compilerOptions: options, files: ["mistakes.ts"] }),
  );
  writeFileSync(`${folder}/mistakes.ts`, before + mistakes.map(([code]) => `${code}\n`).join(""));
  const tsc = `${root}node_modules/.bin/tsc`;
  const args = ["-p", folder, "--noErrorTruncation", "--pretty", "false"];
  const output = await new Promise<string>((resolve) => {
    execFile(tsc, args, (_, stdout) => resolve(stdout));
  });
  const first = before.split("\n").length;
  let at = -1;
  for (const line of output.trim().split("\n")) {
    const [, number, message = line.trim()] =
      /^\S*mistakes\.ts\((\d+),\d+\): error TS\d+: (.*)$/.exec(line) ?? [];
    if (number !== undefined) at = Number(number) - first;
    said.set(at, [...(said.get(at) ?? []), message]);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(mistakes.map(([code, ...expected], index) => [code, expected, index] as const))(
  "%s",
  (_, expected, index) => {
    expect(said.get(index) ?? []).toEqual(expected);
  },
);
