import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chatModels } from "@sluice/core/extend";
import { beforeAll, expect, test } from "vitest";
import { createTemporaryFolder } from "../support/temporary.ts";

/* The compiler's errors for common beginners' mistakes: short, with a hint. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = createTemporaryFolder("type-errors");

/** The chat models, as the compiler prints them. */
const chatIds = Object.keys(chatModels)
  .sort()
  .map((id) => JSON.stringify(id))
  .join(" | ");

const before = `
import { type ChatModel, type Client, createAsset, createClient, createVideoTask, generateImages, streamChat } from "@sluice/core";
import { createChatStore, useChatStream, useImages } from "@sluice/react";
declare const client: Client;
declare const text: string;
declare const known: ChatModel;
const messages = [{ role: "user" as const, content: "Hi" }];
const wide = [{ role: "user", content: "Hi" }];
const line = { type: "text" as const, text: "A reef" };
const frame = { type: "image_url" as const, image_url: { url: "https://a.test/a.png" }, role: "first_frame" as const };
`;
const mistakes: readonly (readonly [code: string, ...said: string[]])[] = [
  [
    'streamChat(client, { model: "gpt-4o", messages });',
    `Type '"gpt-4o"' is not assignable to type '${chatIds} | Denied<"another needs checks: false">'.`,
  ],
  [
    "streamChat(client, { model: text, messages });",
    `Type 'string' is not assignable to type '${chatIds} | Denied<"another needs checks: false">'.`,
  ],
  [
    'generateImages(client, { model: "dall-e", prompt: "A reef" });',
    `Type '"dall-e"' is not assignable to type '"gamma-image-4-0-250828" | "gamma-image-5-0-260128" | Denied<"another needs checks: false">'.`,
  ],
  [
    'createVideoTask(client, { model: "sora", input: { prompt: "A reef" } });',
    `Type '"sora"' is not assignable to type '"beta3.0-video" | "beta3.0-video-prime" | "gamma-video-1-0-pro-fast-251015" | "gamma-video-1-5-pro-251215" | "gamma-video-2.0" | "gamma-video-fast" | Denied<"another needs checks: false">'.`,
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
    'streamChat(client, { model: "gamma-chat-1-6-251015", messages, tools: [] });',
    "Object literal may only specify known properties, and 'tools' does not exist in type 'GammaChatRequest'.",
  ],
  [
    'streamChat(client, { model: "delta-5.3", messages, signal: AbortSignal.abort() });',
    "Object literal may only specify known properties, and 'signal' does not exist in type 'DeltaChatRequest'.",
  ],
  [
    'streamChat(client, { model: "alpha-v4.1-flash", messages: [{ role: "tool", content: "12 °C" }] });',
    `Type '{ role: "tool"; content: string; }' is not assignable to type 'ChatRequestMessage'.`,
    `Property 'tool_call_id' is missing in type '{ role: "tool"; content: string; }' but required in type 'ToolMessage'.`,
  ],
  [
    'useChatStream({ model: "delta-5.3", system: "Be brief" });',
    "Object literal may only specify known properties, and 'system' does not exist in type 'OptionsOf<\"delta-5.3\", unknown>'.",
  ],
  [
    'useChatStream({ model: "gpt-4o" });',
    `Property 'checks' is missing in type '{ model: "gpt-4o"; }' but required in type 'NotListedOptions<"gpt-4o", ${chatIds}, unknown>'.`,
  ],
  [
    "useChatStream({ model: text });",
    `Argument of type '{ model: string; }' is not assignable to parameter of type 'ChatStoreOptions<unknown>'.`,
    `Property 'checks' is missing in type '{ model: string; }' but required in type 'NotListedOptions<string, ${chatIds}, unknown>'.`,
  ],
  [
    'useImages({ model: "dall-e" });',
    `Argument of type '{ model: "dall-e"; }' is not assignable to parameter of type 'UseImagesOptions<"dall-e"> & { readonly checks: false; }'.`,
    `Property 'checks' is missing in type '{ model: "dall-e"; }' but required in type '{ readonly checks: false; }'.`,
  ],
  [
    "useImages({ model: text });",
    `Argument of type '{ model: string; }' is not assignable to parameter of type 'UseImagesOptions<string> & { readonly checks: false; }'.`,
    `Property 'checks' is missing in type '{ model: string; }' but required in type '{ readonly checks: false; }'.`,
  ],
  [
    'createChatStore(client, { model: "delta-5.3", params: { maxTokens: 5 } });',
    "Object literal may only specify known properties, but 'maxTokens' does not exist in type 'ParamsOf<DeltaChatRequest>'. Did you mean to write 'max_tokens'?",
  ],
  [
    'useChatStream({ model: "delta-5.3", params: { reasoning_effort: "none" } });',
    `Type '"none"' is not assignable to type '"high" | "low" | "max" | undefined'.`,
  ],
  [
    'generateImages(client, { model: "gamma-image-5-0-260128", prompt: "A reef", n: 2 });',
    "Object literal may only specify known properties, and 'n' does not exist in type 'GammaImage50Request'.",
  ],
  [
    'generateImages(client, { model: "gamma-image-5-0-260128" });',
    `Property 'prompt' is missing in type '{ model: "gamma-image-5-0-260128"; }' but required in type 'GammaImage50Request'.`,
  ],
  [
    'createVideoTask(client, { model: "beta3.0-video", prompt: "A reef" });',
    "Object literal may only specify known properties, and 'prompt' does not exist in type 'BetaVideoRequest'.",
  ],
  [
    'createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" }, duration: 5 });',
    "Type 'number' is not assignable to type 'Denied<\"belongs in `parameters`\">'.",
  ],
  [
    'createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A" }, parameters: { resolution: "1080p" } });',
    `Type '"1080p"' is not assignable to type '"1080P" | "480P" | "720P" | undefined'. Did you mean '"1080P"'?`,
  ],
  [
    'createVideoTask(client, { model: "gamma-video-1-5-pro-251215", content: [line, frame], camera_fixed: true });',
    "Type 'true' is not assignable to type 'undefined'.",
  ],
  [
    'createVideoTask(client, { model: "gamma-video-1-0-pro-fast-251015", content: [line], generate_audio: true });',
    `Type 'boolean' is not assignable to type 'Denied<"is not for this model, whose videos are silent; leave it out">'.`,
  ],
  [
    'createVideoTask(client, { model: "gamma-video-fast", content: [line], return_last_frame: true });',
    `Type 'boolean' is not assignable to type 'Denied<"is for gamma-video-2.0 only; leave it out, or use that model">'.`,
  ],
  [
    'createAsset(client, { model: "gamma-asset", groupId: "g", Name: "n", AssetType: "Image", URL: "" });',
    "Object literal may only specify known properties, but 'groupId' does not exist in type 'AssetRequest'. Did you mean to write 'GroupId'?",
  ],
  [
    'createClient({ baseUrl: "/api" });',
    "Object literal may only specify known properties, but 'baseUrl' does not exist in type 'ClientOptions'. Did you mean to write 'baseURL'?",
  ],
  ["createChatStore(client, { model: known, params: { max_tokens: 500 } });"],
  ["streamChat(client, { model: known, messages, max_tokens: 500 });"],
  ["streamChat(client, { model: text, messages }, { checks: false });"],
  ["createChatStore(client, { model: text, checks: false, params: { depth: 1 } });"],
  ["createChatStore(client, () => ({ model: text, checks: false, instructions: text }));"],
  ["useChatStream({ model: text, checks: false });"],
];
/** Diagnostics by the number of their mistake. */
const reported = new Map<number, string[]>();

beforeAll(async () => {
  const options = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
    types: [],
    jsx: "react-jsx",
    paths: {
      "@sluice/core/*": ["../../../packages/core/src/entries/*.ts"],
      "@sluice/core": ["../../../packages/core/src/entries/index.ts"],
      "@sluice/stores/*": ["../../../packages/stores/src/*.ts"],
      "@sluice/stores": ["../../../packages/stores/src/index.ts"],
      "@sluice/react": ["../../../packages/react/src/index.ts"],
    },
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
    reported.set(at, [...(reported.get(at) ?? []), message]);
  }
});

test.each(mistakes.map(([code, ...expected], index) => [code, expected, index] as const))(
  "%s",
  (_, expected, index) => {
    expect(reported.get(index) ?? []).toEqual(expected);
  },
);

test("a type error has no line longer than three lines of an editor", () => {
  expect(Math.max(...[...reported.values()].flat().map((line) => line.length))).toBeLessThan(240);
});
