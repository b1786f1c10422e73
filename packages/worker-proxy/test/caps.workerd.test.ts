import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET } from "./support/sign.js";

type Caps = Readonly<Record<string, number | readonly (string | boolean)[]>>;

expectLog("is not a field of this model");

type Body = Record<string, unknown>;
const paths: Record<string, string> = {
  "gamma-video-2.0": "/v1/video/generations",
  "beta3.0-video": "/v1/video/generations",
  "gamma-image-5-0-260128": "/v1/images/generations",
  "gamma-asset": "/gamma/asset/CreateAsset",
};

/** Sends a request within these caps. Returns the body that reached the gateway, or the reason for the refusal. */
async function sendWithCaps(caps: Caps, model: string, text: string, maxTokens?: number) {
  const {
    call,
    reached,
    sent: sentBody,
  } = openProxy({
    models: { [model]: caps },
    allowFields: ["n"],
    routes: ["chat", "images", "videos", "assets"],
    secret: () => SECRET,
    ...(maxTokens && { limits: { maxTokens } }),
  });
  const path = paths[model] ?? "/v1/chat/completions";
  const { status, error } = await call(
    createRequest({ path, body: `{"model":${JSON.stringify(model)},${text}}` }),
  );
  expect(reached).toHaveLength(status === 200 ? 1 : 0);
  if (status !== 200) return { status, error };
  const { model: sentModel, ...sent } = await sentBody();
  expect(sentModel).toBe(model);
  return { status, sent };
}
const video = (caps: Caps, text: string) => sendWithCaps(caps, "gamma-video-2.0", text);
const beta = (caps: Caps, text: string) => sendWithCaps(caps, "beta3.0-video", text);
const image = (caps: Caps, text: string) => sendWithCaps(caps, "gamma-image-5-0-260128", text);
const chat = (caps: Caps, text: string, maxTokens?: number) =>
  sendWithCaps(caps, "delta-5.3", text, maxTokens);

const numbers: Caps = { duration: 10 };
const lists: Caps = { resolution: ["720p", "480p"], generate_audio: [false] };
const nested: Caps = { "parameters.duration": 8, "parameters.resolution": ["480P"] };
const images: Caps = { "sequential_image_generation_options.max_images": 4, n: 1, size: ["2048x2048"] };

describe("within the caps a request passes as it is (case 28)", () => {
  test.each([
    [numbers, '"duration":10', { duration: 10 }],
    [numbers, '"duration":1', { duration: 1 }],
    [lists, '"resolution":"480p","generate_audio":false', { resolution: "480p", generate_audio: false }],
    [{ duration: [4, -1] }, '"duration":-1', { duration: -1 }],
    [{ tools: 1 }, '"tools":[{"type":"web_search"}]', { tools: [{ type: "web_search" }] }],
    [{ tools: 1 }, '"tools":{"type":"web_search"}', { tools: { type: "web_search" } }],
    [{ tools: 1 }, '"tools":[]', { tools: [] }],
    [{ tools: 0 }, '"tools":[]', { tools: [] }],
    [{ tools: 1 }, '"tools":null', { tools: null }],
    [{ seed: 100 }, '"ratio":"1:1"', { ratio: "1:1" }],
    [lists, '"resolution":null,"generate_audio":null', { resolution: "720p", generate_audio: false }],
  ] as [Caps, string, Body][])("%j: %s", async (caps, text, sent) => {
    expect(await video(caps, text)).toEqual({ status: 200, sent });
  });

  test("a list inside an object", async () => {
    const call = (count: number) =>
      beta({ "input.media": 2 }, `"input":{"media":[${Array(count).fill("{}").join()}]}`);
    expect([(await call(2)).status, (await call(3)).error?.["param"]]).toEqual([200, "input.media"]);
  });

  test("inside an object, whose other fields stay", async () => {
    const text = '"parameters":{"duration":8,"resolution":"480P","seed":3},"input":{"prompt":"a"}';
    expect(await beta(nested, text)).toEqual({ status: 200, sent: JSON.parse(`{${text}}`) });
  });
});

describe("a value beyond a cap is refused, and the error names the field (case 28)", () => {
  test.each([
    [numbers, '"duration":11', "duration"],
    [numbers, '"duration":-1', "duration"],
    [numbers, '"duration":0', "duration"],
    [numbers, '"duration":4.5', "duration"],
    [numbers, '"duration":"4"', "duration"],
    [numbers, '"duration":true', "duration"],
    [numbers, '"duration":{}', "duration"],
    [numbers, '"duration":1e21', "duration"],
    [{ duration: 0 }, '"ratio":"1:1"', "duration"],
    [lists, '"resolution":"4k"', "resolution"],
    [lists, '"resolution":"720P"', "resolution"],
    [lists, '"resolution":720', "resolution"],
    [lists, '"generate_audio":true', "generate_audio"],
    [lists, '"generate_audio":"false"', "generate_audio"],
    [lists, '"generate_audio":0', "generate_audio"],
    [{ tools: 20 }, `"tools":[${Array(500).fill("{}").join()}]`, "tools"],
    [{ tools: 20 }, `"tools":[${Array(21).fill("{}").join()}]`, "tools"],
    [{ tools: 0 }, '"tools":[{}]', "tools"],
  ] as [Caps, string, string][])("%j: %s", async (caps, text, param) => {
    const { status, error } = await video(caps, text);
    expect([status, error?.["code"], error?.["param"]]).toEqual([400, "limit_exceeded", param]);
  });

  test("a number beyond all numbers is refused before it is compared", async () => {
    expect((await video(numbers, '"duration":1e400')).status).toBe(400);
    expect((await beta(nested, '"parameters":{"duration":-1e400}')).status).toBe(400);
  });

  test.each([
    '{"duration":9}',
    '{"duration":-1}',
    '{"resolution":"1080P"}',
    '{"Duration":5}',
    '{"duration":5,"DURATION":30}',
    '{"re\u017folution":"1080P"}',
    '{"duration ":30}',
    "[]",
    '[{"duration":30}]',
    '"duration"',
    "30",
    "true",
  ])("inside an object: %s", async (parameters) => {
    const { status, error } = await beta(nested, `"parameters":${parameters}`);
    expect(status).toBe(400);
    expect(error?.["param"]).toMatch(/^parameters/);
  });

  test.each([
    [video, numbers, '"parameters":{"duration":30}', "parameters"],
    [video, numbers, '"metadata":{"Duration":30}', "metadata"],
    [beta, nested, '"duration":30', "duration"],
    [beta, nested, '"parameters":{"duration":5},"resolution":"1080P"', "resolution"],
    [chat, { max_tokens: 9 }, '"extra_body":{"max_tokens":900}', "extra_body"],
    [chat, { "thinking.type": ["disabled"] }, '"type":"enabled"', "type"],
  ] as [typeof video, Caps, string, string][])(
    "where it is not a field: %o %j: %s",
    async (call, caps, text, param) => {
      const { status, error } = await call(caps, text);
      expect([status, error?.["code"], error?.["param"]]).toEqual([400, "field_not_allowed", param]);
    },
  );

  test("Each entry of a list is held to its cap", async () => {
    const caps = { "content.role": ["first_frame", "last_frame"], tools: 1 };
    const content = (role: string) => `"content":[{"role":"last_frame"},{"role":"${role}"}]`;
    expect((await video(caps, content("first_frame"))).status).toBe(200);
    expect((await video(caps, content("reference_image"))).error?.["param"]).toBe("content.role");
    expect((await video(caps, '"seed":1')).sent).toEqual({ seed: 1 });
  });

  test("a list with one number, which a gateway could read as the number", async () => {
    expect((await image(images, '"n":[100]')).error?.["param"]).toBe("n");
    expect((await beta({ "parameters.seed": 9 }, '"parameters":{"seed":[10]}')).status).toBe(400);
  });

  test("a list that has a number among its entries", async () => {
    const entries = (count: number) => `"image":[1,${Array(count - 1).fill('"https://cdn.example/a.png"')}]`;
    expect((await image({ image: 2 }, entries(2))).status).toBe(200);
    expect((await image({ image: 2 }, entries(3))).error?.["param"]).toBe("image");
  });

  test("the images of a sequence", async () => {
    for (const text of [
      '"sequential_image_generation_options":{"max_images":5}',
      '"n":2',
      '"size":"4704x2016"',
    ])
      expect((await image(images, text)).error?.["code"]).toBe("limit_exceeded");
  });

  test("the group of an asset (case 31)", async () => {
    const caps = { GroupId: ["ours"] };
    const call = (group: string) => sendWithCaps(caps, "gamma-asset", `"GroupId":"${group}","Name":"n"`);
    const { status, error } = await call("theirs");
    expect([status, error?.["param"]]).toEqual([403, "GroupId"]);
    expect(await call("ours")).toEqual({ status: 200, sent: { GroupId: "ours", Name: "n" } });
  });
});

describe("a field that a request leaves out is set within the cap (case 28)", () => {
  test("the first of a list", async () => {
    const sent = { resolution: "720p", generate_audio: false };
    expect(await video(lists, '"seed":1')).toEqual({ status: 200, sent: { seed: 1, ...sent } });
    expect(await video(lists, '"resolution":null')).toEqual({ status: 200, sent });
  });

  test("a duration of 5 seconds, or of what is allowed", async () => {
    expect((await video(numbers, '"seed":1')).sent).toEqual({ seed: 1, duration: 5 });
    expect((await video({ duration: 4 }, '"duration":null')).sent).toEqual({ duration: 4 });
  });

  test.each(["", ',"parameters":null', ',"parameters":{}', ',"parameters":{"duration":null}'])(
    "inside an object that may not be there: %j",
    async (text) => {
      const { sent } = await beta(nested, `"input":{}${text}`);
      expect(sent).toEqual({ input: {}, parameters: { duration: 5, resolution: "480P" } });
    },
  );

  test("a field whose absence costs nothing stays absent", async () => {
    expect((await beta({ "parameters.seed": 9 }, '"input":{}')).sent).toEqual({ input: {} });
  });

  test("the largest number of images of a sequence, and the first size", async () => {
    const { sent } = await image(images, '"prompt":"a"');
    expect(sent).toEqual({
      prompt: "a",
      size: "2048x2048",
      sequential_image_generation_options: { max_images: 4 },
    });
  });
});

describe("the tokens of a chat (case 28)", () => {
  test.each([
    ["a model's own cap replaces the limit for all", { max_tokens: 50 }, 100, 50],
    ["the limit for all holds where the model has none", {}, 100, 100],
    ["no cap is more than the model can do", { max_tokens: 900_000 }, undefined, 131_072],
    ["no limit is more than the model can do", {}, 900_000, 131_072],
  ] as [string, Caps, number | undefined, number][])("%s", async (_, caps, maxTokens, max) => {
    expect((await chat(caps, '"messages":[]', maxTokens)).sent).toEqual({ messages: [], max_tokens: max });
    expect((await chat(caps, `"max_tokens":${max}`, maxTokens)).status).toBe(200);
    for (const beyond of [max + 1, -1, 0, `${max}`, 1.5, [1]])
      expect((await chat(caps, `"max_tokens":${JSON.stringify(beyond)}`, maxTokens)).status).toBe(400);
  });

  test("are not limited by default", async () => {
    expect((await chat({}, '"max_tokens":900000')).sent).toEqual({ max_tokens: 900_000 });
  });

  test("do not apply to images and videos", async () => {
    const opened = openProxy({
      routes: ["videos"],
      secret: () => SECRET,
      limits: { maxTokens: 9 },
      models: ["beta3.0-video"],
    });
    await opened.call(createRequest({ path: "/v1/video/generations", body: { model: "beta3.0-video" } }));
    expect(await opened.reached[0]?.json()).toEqual({ model: "beta3.0-video" });
  });
});

test.each([
  ["a fraction", { duration: 1.5 }],
  ["less than nothing", { duration: -1 }],
  ["no number", { duration: Number.NaN }],
  ["a text", { resolution: "720p" }],
  ["a list of nothing", { resolution: [] }],
  ["an object", { parameters: { duration: 5 } }],
  ["a path too deep to be held", { "a.b.c": 1 }],
  ["a path that ends", { "parameters.": 1 }],
  ["a name that no body can have", { "max tokens": 1 }],
])("a cap of %s is refused when the proxy is made", (_, caps) => {
  expect(() => openProxy({ models: { "delta-5.3": caps as never } })).toThrow(/^models: delta-5\.3: /);
});

test("a model that is not in the object is refused, also by the names of inherited properties", async () => {
  const { call } = openProxy({ models: { "delta-5.3": {} } });
  for (const model of ["alpha-v4.1-flash", "toString", "__proto__"])
    expect((await call(createRequest({ body: { model } }))).status).toBe(403);
});

describe("a proxy without `routes`", () => {
  test.each([
    ["sets the cap of `max_tokens` where a request has none", {}, 100],
    ["replaces a `max_tokens` of null", { max_tokens: null }, 100],
    ["passes a smaller `max_tokens`", { max_tokens: 7 }, 7],
    ["refuses a larger `max_tokens`", { max_tokens: 101 }, undefined],
    ["refuses a `max_tokens` of 0", { max_tokens: 0 }, undefined],
    ["refuses a `max_tokens` that is a text", { max_tokens: "7" }, undefined],
    ["refuses a list of `max_tokens`", { max_tokens: [7] }, undefined],
  ])("%s", async (_, fields, expected) => {
    const { call, reached, sent } = openProxy({ models: { "delta-5.3": { max_tokens: 100 } } });
    const messages = [{ role: "user", content: "hi" }];
    const { status, error } = await call(
      createRequest({ body: { model: "delta-5.3", messages, ...fields } }),
    );
    expect(status).toBe(expected === undefined ? 400 : 200);
    if (expected === undefined) expect([error?.["param"], reached]).toEqual(["max_tokens", []]);
    else expect(await sent()).toMatchObject({ max_tokens: expected });
  });

  test("keeps the largest `max_tokens` of the model below a larger cap", async () => {
    const { call, sent } = openProxy({ models: { "gamma-chat-1-6-251015": { max_tokens: 100_000 } } });
    const messages = [{ role: "user", content: "hi" }];
    expect((await call(createRequest({ body: { model: "gamma-chat-1-6-251015", messages } }))).status).toBe(
      200,
    );
    expect(await sent()).toMatchObject({ max_tokens: 8192 });
  });

  test.each([
    ["tools", 1],
    ["temperature", [0]],
    ["max_tokens", [100, 200]],
  ])("refuses a cap of %s when it is made, and names the routes that have it", (field, cap) => {
    const models = { "delta-5.3": { [field]: cap } } as never;
    expect(() => openProxy({ models })).toThrow(`models: delta-5.3: ${field}: list \`chat\` in \`routes\``);
    expect(() => openProxy({ models, routes: ["chat"] })).not.toThrow();
  });
});
