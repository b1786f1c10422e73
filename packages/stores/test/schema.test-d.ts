import { type ChatModel, type ChatRequest, type Client, streamChat } from "@sluice/core";
import { createChatStore, createImageStore, createVideoTaskStore } from "@sluice/stores";
import { test } from "vitest";

declare const client: Client;
const messages = [{ role: "user" as const, content: "Hello" }];
const accepts = (_: ChatRequest) => {};

test("the types reject the values that the checks reject", () => {
  accepts({ model: "alpha-v4.1-flash", messages, thinking: { type: "disabled" }, reasoning_effort: "none" });
  accepts({ model: "gamma-chat-1-6-251015", messages, stop: "END" });
  accepts({ model: "delta-5.3", messages, reasoning_effort: "max" });

  // @ts-expect-error an unknown model
  accepts({ model: "alpha-v5", messages });
  // @ts-expect-error no messages
  accepts({ model: "delta-5.3" });
  // @ts-expect-error delta always thinks
  accepts({ model: "delta-5.3", messages, thinking: { type: "disabled" } });
  // @ts-expect-error an effort that only alpha has
  accepts({ model: "delta-5.3", messages, reasoning_effort: "none" });
  // @ts-expect-error gamma has no tools
  accepts({ model: "gamma-chat-1-6-251015", messages, tools: [] });
  // @ts-expect-error gamma takes one stop string
  accepts({ model: "gamma-chat-1-6-251015", messages, stop: ["END"] });
  const image = { type: "image_url" as const, image_url: { url: "https://a.test/b.png" } };
  accepts({ model: "alpha-v4.1-flash", messages: [{ role: "user", content: [image] }] });
  // @ts-expect-error images are for user messages
  accepts({ model: "alpha-v4.1-flash", messages: [{ role: "system", content: [image] }] });
  // @ts-expect-error a tool message names its call
  accepts({ model: "alpha-v4.1-flash", messages: [{ role: "tool", content: "12 °C" }] });
  // @ts-expect-error the signal is an option, not a part of the request
  streamChat(client, { model: "delta-5.3", messages, signal: AbortSignal.abort() });
});

test("a model of a union type accepts the fields that all its members have", () => {
  const model = "delta-5.3" as ChatModel;
  streamChat(client, { model, messages, max_tokens: 500 });
  createChatStore(client, { model });
  createChatStore(client, { model, params: { max_tokens: 500, temperature: 1 } });
  // @ts-expect-error not all models have the field
  createChatStore(client, { model, params: { reasoning_effort: "low" } });
  // @ts-expect-error this model does not have `reasoning_effort`
  createChatStore(client, { model: "delta-5.3", params: { reasoning_effort: "none", max_tokens: 500 } });
});

test("an unknown model is accepted with checks: false", () => {
  const zeta = { model: "zeta-9", messages, depth: "deep" };
  streamChat(client, zeta, { checks: false });
  streamChat(client, { model: "zeta-9", messages, depth: "deep" }, { checks: false });
  streamChat(client, { model: "delta-5.3", messages, depth: "deep" }, { checks: false });
  // @ts-expect-error it is not listed
  streamChat(client, zeta);
  // @ts-expect-error a value that may be true
  streamChat(client, zeta, { checks: false as boolean });
  // @ts-expect-error each request has a model
  streamChat(client, { messages }, { checks: false });
  createChatStore(client, { model: "zeta-9", checks: false, params: { depth: "deep" } });
  createChatStore<unknown, string>(client, { model: "delta-5.3", checks: false, params: { depth: "deep" } });
  // @ts-expect-error it is not listed
  createChatStore(client, { model: "zeta-9", params: { max_tokens: 5 } });
  createImageStore(client, { model: "zeta-9", checks: false, params: { depth: "deep" } });
  // @ts-expect-error it is not listed
  createImageStore(client, { model: "zeta-9" });
  const video = createVideoTaskStore(client);
  video.create({ model: "zeta-9", depth: "deep" }, { checks: false, label: "Reef" });
  // @ts-expect-error it is not listed
  video.create({ model: "zeta-9", depth: "deep" });
});
