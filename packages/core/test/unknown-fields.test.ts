import { completeChat, createVideoTask, generateImages, type Issue } from "@sluice/core";
import { checkRequest, models } from "@sluice/core/schemas";
import { describe, expect, test, vi } from "vitest";
import { createTestClient } from "./support/gateway.js";

const messages = [{ role: "user" as const, content: "Hello" }];
const delta = { model: "delta-5.3" as const, messages };
const clip = { model: "beta3.0-video", input: { prompt: "A reef" } };

const formatIssues = (issues: readonly Issue[]) => issues.map(({ path, message }) => `${path} ${message}`);
const listWarnings = (request: object) => {
  const { issues, warnings } = checkRequest(request);
  expect(issues).toEqual([]);
  return formatIssues(warnings.filter(({ rule }) => rule.endsWith(".unknown-field")));
};

test("an unknown field is sent unchanged, with a warning that names it", async () => {
  const warned: Issue[] = [];
  const body = { choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] };
  const { client, requests } = createTestClient(() => Response.json(body), {
    onEvent: (event) => event.type === "warning" && warned.push(event.issue),
  });
  const request = { ...delta, n: 1, extra: { deep: [null, "x"] } };
  await completeChat(client, request);
  expect(await requests[0]?.json()).toEqual(request);
  expect(warned.map(({ path, rule }) => [path, rule])).toEqual([
    ["n", "chat.delta.unknown-field"],
    ["extra", "chat.delta.unknown-field"],
  ]);
});

describe("the warning names the known field that was probably meant", () => {
  test.each([
    ["maxTokens", "max_tokens"],
    ["Max_Tokens", "max_tokens"],
    ["maxtokens", "max_tokens"],
    ["max-tokens", "max_tokens"],
    ["temprature", "temperature"],
    ["reasoningEffort", "reasoning_effort"],
    ["message", "messages"],
  ])("%s: %s", (given, meant) => {
    expect(listWarnings({ ...delta, [given]: 1 })).toEqual([
      `${given} is not a known field of this model; did you mean \`${meant}\`?`,
    ]);
  });

  test.each(["n", "user", "seed", "logit_bias", "parallel_tool_calls", "constructor"])(
    "no field is suggested for %s",
    (given) => {
      expect(listWarnings({ ...delta, [given]: 1 })).toEqual([`${given} is not a known field of this model`]);
    },
  );
});

test("warns about a name of a million characters like about any other", () => {
  expect(listWarnings({ ...delta, ["x".repeat(1_000_000)]: 1 })[0]).toMatch(
    /x is not a known field of this model$/,
  );
});

test("warnings name nested fields by their path, and fields of a list once", () => {
  const call = {
    id: "c-1",
    type: "function",
    index: 0,
    function: { name: "f", arguments: "{}", strict: true },
  };
  const tool = {
    type: "function",
    function: { name: "f", parameters: { type: "object", any: 1 }, cache: 1 },
  };
  const request = {
    model: "alpha-v4.1-flash",
    thinking: { type: "enabled", budget: 1024 },
    tools: [tool, tool],
    messages: [
      { role: "user", content: [{ type: "text", text: "x", cache_control: {} }], createdAt: 1 },
      { role: "assistant", content: null, tool_calls: [call], nmae: "a" },
      { role: "tool", content: "12 °C", tool_call_id: "c-1", createdAt: 2 },
    ],
  };
  expect(listWarnings(request)).toEqual([
    "thinking.budget is not a known field of this model",
    "tools.0.function.cache is not a known field of this model",
    "messages.0.content.0.cache_control is not a known field of this model",
    "messages.0.createdAt is not a known field of this model",
    "messages.1.tool_calls.0.index is not a known field of this model",
    "messages.1.tool_calls.0.function.strict is not a known field of this model",
    "messages.1.nmae is not a known field of this model; did you mean `name`?",
  ]);
});

test("images, videos and assets also accept unknown fields", () => {
  const image = { model: "gamma-image-5-0-260128", prompt: "A reef", n: 1, logo_info: { opcity: 1 } };
  expect(checkRequest(image).issues).toEqual([]);
  expect(formatIssues(checkRequest(image).warnings)).toEqual([
    "n is not a known field of this model",
    "logo_info.opcity is not a known field of this model; did you mean `opacity`?",
  ]);
  const video = { ...clip, parameters: { Duration: 5 } };
  expect(checkRequest(video).issues).toEqual([]);
  expect(formatIssues(checkRequest(video).warnings)).toEqual([
    "parameters.Duration is not a known field of this model; did you mean `duration`?",
  ]);
  const asset = { model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Image", URL: new Blob(["x"]) };
  expect(checkRequest({ ...asset, groupId: "h" }).issues).toEqual([]);
  expect(formatIssues(checkRequest({ ...asset, groupId: "h" }).warnings)).toEqual([
    "groupId is not a known field of this model; did you mean `GroupId`?",
  ]);
});

test("A number of results other than one is refused for every resource, with what to do instead", () => {
  const image = { model: "gamma-image-5-0-260128", prompt: "A reef" };
  for (const request of [delta, image, clip]) {
    for (const n of [2, 0, "1", [1], {}])
      expect(checkRequest({ ...request, n }).issues).toMatchObject([
        {
          path: "n",
          rule: expect.stringMatching(/\.n$/),
          message: expect.stringMatching(/^must be 1: .*requests/),
        },
      ]);
    for (const n of [1, null, undefined]) expect(checkRequest({ ...request, n }).issues).toEqual([]);
  }
});

test("an unknown field does not hide a broken rule", () => {
  const request = { ...delta, n: 1, max_tokens: 0, reasoning_effort: "none" };
  expect(checkRequest(request).issues.map(({ path }) => path)).toEqual(["reasoning_effort", "max_tokens"]);
  const video = { model: "gamma-video-1-5-pro-251215", content: [{ type: "text", text: "x", lang: "en" }] };
  expect(checkRequest({ ...video, content: [...video.content, ...video.content] }).issues).toMatchObject([
    { rule: "video.1-5-pro.one-text" },
  ]);
});

test("the error of a missing field suggests a misspelled field", () => {
  const { issues } = checkRequest({ model: "delta-5.3", message: messages });
  expect(formatIssues(issues)).toEqual(["messages is required; did you misspell it as `message`?"]);
});

test("a field that the spec forbids is refused, with the alternative", () => {
  const text = [{ type: "text", text: "A reef" }];
  const listIssues = (request: object) => formatIssues(checkRequest(request).issues);
  expect(listIssues({ ...clip, duration: 5 })).toEqual(["duration belongs in `parameters`"]);
  expect(listIssues({ model: "gamma-video-2.0", content: text, parameters: {} })).toEqual([
    "parameters is a field of the beta models; gamma models take `content`, and parameters at the top level",
  ]);
  for (const model of ["gamma-video-fast", "gamma-video-1-5-pro-251215", "gamma-video-1-0-pro-fast-251015"])
    expect(listIssues({ model, content: text, return_last_frame: true })).toEqual([
      "return_last_frame is for gamma-video-2.0 only; leave it out, or use that model",
    ]);
});

test("production sends an unknown field without a warning, and `checkRequest` still names it", async () => {
  const warned: Issue[] = [];
  const body = { choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }] };
  const { client, requests } = createTestClient(() => Response.json(body), {
    onEvent: (event) => event.type === "warning" && warned.push(event.issue),
  });
  const request = { ...delta, extra: 1 };
  vi.stubEnv("NODE_ENV", "production");
  await completeChat(client, request);
  expect(listWarnings(request)).toEqual(["extra is not a known field of this model"]);
  expect(checkRequest({ ...delta, model: "delta-5-3" }).issues[0]?.message).not.toContain("did you mean");
  vi.unstubAllEnvs();
  expect(warned).toEqual([]);
  expect(await requests[0]?.json()).toEqual(request);
});

test("production sends an unknown field of a video or an image without a warning", async () => {
  const warned: Issue[] = [];
  const { client, requests } = createTestClient(() => Response.json({ id: "t-1", data: [] }), {
    onEvent: (event) => event.type === "warning" && warned.push(event.issue),
  });
  const image = { model: "gamma-image-5-0-260128", prompt: "A reef", extra: 1 } as const;
  vi.stubEnv("NODE_ENV", "production");
  await createVideoTask(client, { ...clip, extra: 1 } as never);
  await generateImages(client, image);
  vi.unstubAllEnvs();
  expect(warned).toEqual([]);
  expect(await requests[1]?.json()).toEqual(image);
});

describe("the error of a misspelt model names the model that was probably meant", () => {
  test.each([
    ["delta-5-3", "delta-5.3"],
    ["Delta-5.3", "delta-5.3"],
    ["gamma-chat-1-6", "gamma-chat-1-6-251015"],
    ["alpha-4.1-flash", "alpha-v4.1-flash"],
  ])("%s: %s", (given, meant) => {
    const [issue] = checkRequest({ ...delta, model: given }).issues;
    expect(issue?.message).toMatch(/^must be one of alpha-v4.1-flash, .*; did you mean/);
    expect(issue?.message.endsWith(`; did you mean \`${meant}\`?`)).toBe(true);
  });

  test("no model is suggested for a model of another vendor", () => {
    expect(checkRequest({ ...delta, model: "gpt-4o" }).issues[0]?.message).toBe(
      `must be one of ${Object.keys(models).join(", ")}`,
    );
  });
});
