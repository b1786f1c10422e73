import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import {
  readCompletionsOfNewest,
  readCompletionsOfOldest,
  readHoversOfNewest,
  readHoversOfOldest,
} from "../support/editor-hovers.ts";
import { createTemporaryFolder } from "../support/temporary.ts";

/*
 * The editor of a user of the built package: each field that is typed shows its doc, by the oldest TypeScript that is
 * promised and by the newest. The docs are written at the schemas.
 */

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = createTemporaryFolder("hover-built");
const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
  target: "es2022",
  module: "esnext",
  moduleResolution: "bundler",
  lib: ["es2023", "dom", "dom.iterable", "dom.asynciterable"],
  types: [],
};
// `/**/` marks each name; the test reads its hover
const consumer = `
import { type ChatRequestMessage, type Client, createAsset, createVideoTask, generateImages, type StandardSchema, streamChat } from "@sluice/core";
import { type ChatStoreOptions, createChatStore, useChatStream, useImages, useVideoTask } from "@sluice/react";
import type { ModelRequest } from "@sluice/core/schemas";
import { createProxy } from "@sluice/worker-proxy";
declare const client: Client;
declare const schema: StandardSchema<{ city: string }>;
const messages = [{ role: "user", content: "Hi" }] as const;
streamChat(client, { /**/model: "delta-5.3", /**/messages, /**/max_tokens: 5, /**/thinking: { /**/type: "enabled" } });
streamChat(client, { model: "gamma-chat-1-6-251015", messages: [{ /**/role: "user", /**/content: "Hi", /**/name: "ada" }], /**/stop: "END" });
createChatStore(client, { /**/model: "alpha-v4.1-flash", /**/instructions: "Be brief", /**/outputSchema: schema, /**/params: { /**/temperature: 1, /**/max_tokens: 5 }, /**/tools: [], /**/onError() {} });
useChatStream({ /**/model: "delta-5.3", /**/instructions: () => "Be brief", /**/outputSchema: schema, /**/params: { /**/temperature: 1, /**/max_tokens: 5, /**/reasoning_effort: "low" }, /**/maxSteps: 3 });
useImages({ /**/model: "gamma-image-5-0-260128", /**/params: { /**/size: "2048x2048" } });
createProxy({ baseURL: "https://a.test", apiKey: () => "", authenticate: "public", origins: [], /**/models: ["delta-5.3"] });
const params: ModelRequest<"alpha-v4.1-flash"> = { model: "alpha-v4.1-flash", messages, /**/max_tokens: 5, /**/stream_options: { /**/include_usage: true } };
generateImages(client, { /**/model: "gamma-image-5-0-260128", /**/prompt: "A reef", /**/size: "2048x2048", /**/logo_info: { /**/opacity: 0.5 } });
createVideoTask(client, { /**/model: "beta3.0-video", /**/input: { prompt: "A reef" }, /**/parameters: { /**/duration: 5 } });
createVideoTask(client, { /**/model: "gamma-video-2.0", /**/content: [{ type: "image_url", /**/image_url: { /**/url: "asset://a-1" }, /**/role: "first_frame" }] });
createAsset(client, { /**/model: "gamma-asset", /**/GroupId: "g", Name: "n", AssetType: "Image", /**/URL: new Blob() });
useVideoTask().create({ /**/model: "gamma-video-2.0", /**/content: [{ type: "text", text: "A reef" }] });
useImages({ model: "gamma-image-5-0-260128" }).generate({ /**/prompt: "A reef", /**/size: "2048x2048" });

declare const options: ChatStoreOptions<{ city: string }>;
declare const request: ModelRequest<"alpha-v4.1-flash">, video: ModelRequest<"beta3.0-video">, call: NonNullable<Extract<ChatRequestMessage, { readonly tool_calls?: unknown }>["tool_calls"]>[number];
options./**/outputSchema;
options./**/params;
request./**/model;
request./**/messages;
request./**/response_format?./**/type;
call.function./**/arguments;
video./**/return_last_frame;
({} as ModelRequest<"delta-5.3">)./**/reasoning_effort;

// @ts-expect-error a field is read-only
request.max_tokens = 5;
// @ts-expect-error so is a field of a field
request.thinking!.type = "enabled";
// @ts-expect-error and a list
request.messages.push(messages[0]);
// @ts-expect-error and a field of an item
request.messages[0]!.name = "ada";
// @ts-expect-error and the list of an item
call.function.name = "weather";
`;
/** Name and words of each hover, in the order of the marks. */
const docs: readonly (readonly [name: string, doc: string, isBareInNewest?: true])[] = [
  ["model", "It decides the other fields."],
  ["messages", "At least one message. Text only."],
  ["max_tokens", "Most tokens of the response. Whole number from 1 to 131,072."],
  ["thinking", "It cannot be switched off."],
  ["type", "is the only value."],
  ["role", "Author of the message. `user`: the person."],
  ["content", "This model accepts no images."],
  ["name", "Name of the participant"],
  ["stop", "One text, not a list."],
  ["model", "It decides which parameters exist."],
  ["instructions", "System prompt: the first message of each request"],
  ["outputSchema", "Schema of the response, which becomes `output`."],
  ["params", "Parameters of each request, under the gateway's own names"],
  ["temperature", "Randomness of the response"],
  ["max_tokens", "Whole number from 1 to 393,216."],
  ["tools", "The tools that the model may call."],
  ["onError", "Called once for each turn that failed"],
  ["model", "It decides which parameters exist."],
  ["instructions", "System prompt: the first message of each request"],
  ["outputSchema", "Schema of the response, which becomes `output`."],
  ["params", "Parameters of each request, under the gateway's own names"],
  ["temperature", "From 0 to 1."],
  ["max_tokens", "Whole number from 1 to 131,072."],
  ["reasoning_effort", 'This model does not support `"none"`.'],
  ["maxSteps", "Maximum number of responses to one question"],
  ["model", "Each model has its own sizes."],
  ["params", "Default fields of each request"],
  ["size", "one of 16 sizes", true],
  ["models", "The models that are allowed"],
  ["max_tokens", "Whole number from 1 to 393,216."],
  ["stream_options", "Options of a streamed response."],
  ["include_usage", "Reports the tokens at the end of the stream."],
  ["model", "It decides the possible sizes."],
  ["prompt", "Description of the image"],
  ["size", "one of 16 sizes"],
  ["logo_info", "A logo on each image."],
  ["opacity", "From 0, invisible, to 1."],
  ["model", "The model."],
  ["input", "Content of the video: a prompt, media, or both."],
  ["parameters", "Size, length and other settings."],
  ["duration", "Whole number from 2 to 30, or -1"],
  ["model", "The model."],
  ["content", "At least one item; audios need an image or a video."],
  ["image_url", "The image."],
  ["url", "the `uri` of a registered asset"],
  ["role", "The spec shows no list"],
  ["model", "The model of the registration."],
  ["GroupId", "Id of an existing asset group."],
  ["URL", "a `File` or `Blob` of an image"],
  ["model", "The model.", true],
  ["content", "At least one item;", true],
  ["prompt", "Description of the image", true],
  ["size", "one of 16 sizes", true],
  ["schema", "Schema"],
  ["params", "Parameters of each request", true],
  ["model", "The model. It decides the other fields."],
  ["messages", "At least one message."],
  ["response_format", "Format of the response."],
  ["type", "the messages must ask for JSON too."],
  ["arguments", "The text comes from the model and may be invalid JSON."],
  ["return_last_frame", "Not for this model: a field of `gamma-video-2.0`."],
  ["reasoning_effort", 'This model does not support `"none"`.'],
];
/** Positions of a model that is still to be typed. */
const unfinished = `
import { type Client, generateImages, streamChat } from "@sluice/core";
import { createChatStore, useChatStream } from "@sluice/react";
import { createProxy } from "@sluice/worker-proxy";
declare const client: Client;
const proxy = { baseURL: "https://a.test", apiKey: () => "", authenticate: "public" as const, origins: [] };
streamChat(client, { model: "/**/", messages: [] });
createChatStore(client, { model: "/**/" });
useChatStream({ model: "/**/" });
generateImages(client, { model: "/**/", prompt: "" });
createProxy({ ...proxy, models: ["/**/"] });
createProxy({ ...proxy, models: { "/**/": { max_tokens: 5 } } });
`;
const chats = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"];
const images = ["gamma-image-4-0-250828", "gamma-image-5-0-260128"];
const all = [...chats, ...images, "beta3.0-video", "gamma-video-2.0", "gamma-asset"];
/** Some of the ids that an editor has to offer at each of these positions. */
const offered = [chats, chats, chats, images, all, all];
const file = `${folder}/consumer.ts`;
const typing = `${folder}/typing.ts`;
/** Type tests of the core and the stores, which find the built packages by their own names. */
const typeTests = ["core/test/requests", "stores/test/schema"].map(
  (path) => `${root}packages/${path}.test-d.ts`,
);

beforeAll(() => {
  writeFileSync(file, consumer);
  writeFileSync(typing, unfinished);
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({ compilerOptions, files: ["consumer.ts", ...typeTests] }),
  );
});

const versions = [
  [
    "5.4",
    "tests/node_modules/typescript-5.4/bin/tsc",
    async () => readHoversOfOldest(file, compilerOptions),
    async () => readCompletionsOfOldest(typing, compilerOptions),
  ],
  [
    "7",
    "node_modules/typescript/bin/tsc",
    () => readHoversOfNewest(file),
    () => readCompletionsOfNewest(typing),
  ],
] as const;

describe.each(versions)("TypeScript %s", (version, tsc, readHovers, readCompletions) => {
  // the newest one reads all packages of `tests` first, for names that it could import
  test("offers the ids of models where one is typed", { timeout: 180_000 }, async () => {
    const completions = await readCompletions();
    expect(completions).toHaveLength(offered.length);
    for (const [index, ids] of offered.entries())
      expect.soft(completions[index], `place ${index}`).toEqual(expect.arrayContaining(ids));
  });

  test("shows the doc of each option and each field of a request, nested fields too", async () => {
    const hovers = await readHovers();
    expect(hovers).toHaveLength(docs.length);
    for (const [index, [name, doc, isBareInNewest]] of docs.entries()) {
      expect.soft(hovers[index]).toContain(name);
      // TypeScript 7.0 shows no doc of a field that several types of a union declare, nor of one of a mapped type: of what
      // `Omit` leaves, of a request that may have files
      if (version === "5.4" || !isBareInNewest) expect.soft(hovers[index]).toContain(doc);
    }
  });

  test("compiles the requests and refuses to change one", { timeout: 180_000 }, () => {
    const { stdout } = spawnSync(process.execPath, [root + tsc, "-p", folder], { encoding: "utf8" });
    expect(stdout).toBe("");
  });
});
