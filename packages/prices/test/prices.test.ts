import type { ClientEvent, ImageResult, VideoTask } from "@sluice/core";
import { type Cost, calculateCost, definePrices, estimateCost, type Prices } from "@sluice/prices";
import type { ChatMessage } from "@sluice/stores";
import { describe, expect, test } from "vitest";

/* Imaginary prices, in an imaginary currency. */
const prices = definePrices({
  currency: "coins",
  models: {
    "delta-5.3": { input: 0.6, output: 2.4 },
    "alpha-v4.1-flash": { input: 0.3, cachedInput: 0.03, output: 0.9 },
    "gamma-image-4-0-250828": { image: { "1024x1024": 0.02, "4096x4096": 0.08 } },
    "gamma-image-5-0-260128": { image: 0.03 },
    "tokens-image": { input: 5, output: 40 },
    "beta3.0-video": { second: { "480p": 0.02, "720P": 0.05, "1080p": 0.1 }, inputSecond: 0.01 },
    "gamma-video-1-5-pro-251215": { second: 0.04, secondWithAudio: 0.06 },
    "gamma-video-2.0": {
      second: { "480p": 0.02, "1080p": 0.1 },
      secondWithAudio: { "480p": 0.03, "1080p": 0.2 },
    },
    "gamma-video-fast": { output: 4 },
    "gamma-asset": { asset: 0.001 },
  },
});
const createReply = (fields: Partial<ChatMessage> = {}): ChatMessage => ({
  id: "a",
  role: "assistant",
  content: "Blue.",
  model: "delta-5.3",
  outcome: "complete",
  usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 },
  ...fields,
});
const question: ChatMessage = { id: "q", role: "user", content: "Which color?" };
const task = (model: string, raw: object): VideoTask => ({
  id: "t",
  model,
  state: "succeeded",
  rawStatus: "SUCCESS",
  url: "https://files.example/video.mp4",
  urlSource: "data.result_url",
  raw,
});
const coins = (amount: number, missing: Cost["missing"] = []) => ({ amount, currency: "coins", missing });

describe("chats", () => {
  test("a response costs its tokens", () => {
    expect(calculateCost(createReply(), prices)).toEqual(coins(0.0018));
  });

  test.each([
    ["prompt_tokens_details", { prompt_tokens_details: { cached_tokens: 900 } }],
    ["prompt_cache_hit_tokens", { prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100 }],
  ])("tokens of the cache cost less, as %s reports them", (_name, cached) => {
    const usage = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500, ...cached };
    expect(calculateCost(createReply({ model: "alpha-v4.1-flash", usage }), prices)).toEqual(coins(0.000507));
    expect(calculateCost(createReply({ usage }), prices)).toEqual(coins(0.0018));
  });

  test("a conversation costs its responses, including those of hidden branches", () => {
    const node = (message: ChatMessage) => ({ id: message.id, parentId: undefined, message });
    expect(calculateCost([question, createReply(), createReply({ id: "b" })], prices)).toEqual(coins(0.0036));
    expect(
      calculateCost([node(question), node(createReply()), node(createReply({ id: "b" }))], prices),
    ).toEqual(coins(0.0036));
  });

  test("an unknown cost is listed as missing and never counts as free", () => {
    const { usage: _, ...unreported } = createReply();
    const { outcome: _outcome, ...inFlight } = unreported;
    const halfRead = createReply({ usage: { prompt_tokens: 5 } as never });
    const cost = calculateCost(
      [createReply(), unreported, unreported, halfRead, inFlight, createReply({ model: "new-1" })],
      prices,
    );
    expect(cost).toEqual(
      coins(0.0018, [
        { reason: "no-usage", model: "delta-5.3", count: 3 },
        { reason: "not-ended", model: "delta-5.3", count: 1 },
        { reason: "unknown-model", model: "new-1", count: 1 },
      ]),
    );
    expect(calculateCost(createReply({ model: "gamma-image-5-0-260128" }), prices).missing[0]?.reason).toBe(
      "no-price",
    );
  });

  test("a rejected request costs nothing, and the cost of a broken response is unknown", () => {
    const { usage: _, ...lost } = createReply({ outcome: "error" });
    const failed = (billing: string) => ({ ...lost, error: Object.assign(new Error("lost"), { billing }) });
    expect(calculateCost([failed("none")], prices)).toEqual(coins(0));
    expect(calculateCost(failed("maybe"), prices).missing).toEqual([
      { reason: "no-usage", model: "delta-5.3", count: 1 },
    ]);
  });

  test("an estimate is never less than the cost", () => {
    const messages = [{ role: "user" as const, content: "¿Qué? 什么？ 🙂".repeat(40) }];
    const { amount, min } = estimateCost({ model: "delta-5.3", messages, max_tokens: 500 }, prices);
    const bytes = new TextEncoder().encode(messages[0]?.content).length;
    const usage = { prompt_tokens: bytes, completion_tokens: 500, total_tokens: bytes + 500 };
    expect(amount).toBeGreaterThanOrEqual(calculateCost(createReply({ usage }), prices).amount);
    expect(amount).toBeLessThan(0.003);
    expect(min).toBe(0);
    const body = { model: "delta-5.3", messages, max_tokens: 500 };
    expect(estimateCost({ ...body, n: 3 }, prices).amount).toBeCloseTo(amount + 2 * 500 * 2.4e-6, 4);
  });

  test("an estimate counts an image of a message by its number, not by its length", () => {
    const amount = (...images: readonly string[]) => {
      const content = images.map((url) => ({ type: "image_url", image_url: { url } }));
      const request = { model: "delta-5.3", messages: [{ role: "user", content }], max_tokens: 0 };
      return estimateCost(request, prices).amount;
    };
    const image = `data:image/png;base64,${"A".repeat(100_000)}`;
    expect(amount(image)).toBeCloseTo(10_000 * 0.6e-6, 3);
    expect(amount(image, "https://files.example/1.png")).toBeCloseTo(20_000 * 0.6e-6, 3);
  });

  test("a server counts a response by its request and its usage", () => {
    const { usage } = createReply();
    expect(calculateCost({ request: { model: "delta-5.3" }, usage }, prices)).toEqual(coins(0.0018));
    const request = { model: "gamma-image-4-0-250828", size: "4096x4096" };
    expect(calculateCost({ request, usage: { generated_images: 2 } }, prices)).toEqual(coins(0.16));
    expect(calculateCost({ request, usage: undefined }, prices).missing).toHaveLength(1);
  });

  test("an estimate without max_tokens uses the model's maximum, or is unlimited", () => {
    expect(estimateCost({ model: "delta-5.3" }, prices).amount).toBeGreaterThan(131_072 * 2.4e-6);
    const table = { currency: "coins", models: { "new-1": { input: 1, output: 1 } } };
    expect(estimateCost({ model: "new-1" }, table).missing).toEqual([
      { reason: "no-limit", model: "new-1", count: 1 },
    ]);
  });
});

describe("images", () => {
  const made = (model: string, fields: Partial<ImageResult> = {}): ImageResult => ({
    model,
    images: [
      { url: "https://files.example/1.png", size: "1024x1024" },
      { url: "https://files.example/2.png", size: "4096x4096" },
      { error: { message: "no" } },
    ],
    raw: {},
    ...fields,
  });

  test("images cost by their number or their sizes, and failed images cost nothing", () => {
    expect(calculateCost(made("gamma-image-5-0-260128"), prices)).toEqual(coins(0.06));
    expect(calculateCost(made("gamma-image-4-0-250828"), prices)).toEqual(coins(0.1));
    const usage = { generated_images: 2, output_tokens: 8000, total_tokens: 8200 };
    expect(calculateCost(made("tokens-image", { usage }), prices)).toEqual(coins(0.321));
    expect(calculateCost(made("tokens-image"), prices).missing[0]?.reason).toBe("no-usage");
  });

  test("the request gives the size if the response does not", () => {
    const result = made("gamma-image-4-0-250828", { images: [{ url: "https://files.example/1.png" }] });
    expect(calculateCost(result, prices).missing[0]?.reason).toBe("no-usage");
    expect(calculateCost({ request: { size: "4096x4096" }, result }, prices)).toEqual(coins(0.08));
    const odd = { request: { size: "9x9" }, result };
    expect(calculateCost(odd, prices).missing).toEqual([
      { reason: "no-price", model: "gamma-image-4-0-250828", count: 1 },
    ]);
  });

  test("an estimate depends on the number and the size", () => {
    const sequence = {
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 4 },
    };
    const of = (request: object) => estimateCost({ model: "gamma-image-4-0-250828", ...request }, prices);
    expect(of({ size: "1024x1024" })).toEqual({ ...coins(0.02), min: 0.02 });
    expect(of({ size: "4096x4096", ...sequence })).toEqual({ ...coins(0.32), min: 0.08 });
    expect(of({ size: "4096x4096", sequential_image_generation: "auto" }).missing[0]?.reason).toBe(
      "no-limit",
    );
    expect(of({}).missing[0]?.reason).toBe("no-usage");
    expect(estimateCost({ model: "tokens-image" }, prices).missing).toHaveLength(1);
  });
});

describe("videos", () => {
  const usage = { SR: 720, duration: 8, input_video_duration: 2.5, output_video_duration: 8, video_count: 1 };

  test("a video costs the seconds that the gateway reports, by its resolution", () => {
    const raw = { code: "success", data: { status: "SUCCESS", data: { usage } } };
    expect(calculateCost(task("beta3.0-video", raw), prices)).toEqual(coins(0.425));
  });

  test("a video without usage needs its request", () => {
    const result = task("gamma-video-1-5-pro-251215", {
      code: "success",
      data: { status: "SUCCESS", data: {} },
    });
    expect(calculateCost(result, prices).missing[0]?.reason).toBe("no-usage");
    expect(calculateCost({ request: { model: result.model }, result }, prices)).toEqual(coins(0.2));
    const loud = { request: { model: result.model, duration: 10, generate_audio: true }, result };
    expect(calculateCost(loud, prices)).toEqual(coins(0.6));
    const chosen = { request: { model: result.model, duration: -1 }, result };
    expect(calculateCost(chosen, prices).missing[0]?.reason).toBe("no-usage");
  });

  test("a video that reports tokens costs its tokens", () => {
    const raw = { status: "succeeded", usage: { completion_tokens: 100_000, total_tokens: 100_000 } };
    expect(calculateCost(task("gamma-video-fast", raw), prices)).toEqual(coins(0.4));
  });

  test("a pending or failed video has no known cost", () => {
    const {
      url: _,
      urlSource: _source,
      ...fields
    } = task("beta3.0-video", {}) as VideoTask & { state: "succeeded" };
    for (const state of ["running", "failed"] as const)
      expect(calculateCost({ ...fields, state } as VideoTask, prices).missing).toEqual([
        { reason: "not-ended", model: "beta3.0-video", count: 1 },
      ]);
  });

  test("an estimate depends on length, resolution and sound, with the model's defaults", () => {
    const beta = (parameters: object, media: object[] = []) =>
      estimateCost({ model: "beta3.0-video", input: { prompt: "Waves", media }, parameters }, prices);
    expect(beta({})).toEqual({ ...coins(0.5), min: 0.5 });
    expect(beta({ duration: 8, resolution: "720P" }).amount).toBe(0.4);
    expect(beta({ duration: -1, resolution: "480P" })).toEqual({ ...coins(0.6), min: 0.04 });
    expect(beta({}, [{ type: "reference_video", url: "https://files.example/a.mp4" }]).missing).toHaveLength(
      1,
    );
    const full = (fields: object) => estimateCost({ model: "gamma-video-2.0", ...fields }, prices);
    expect(full({ duration: 10, resolution: "1080p", generate_audio: true }).amount).toBe(2);
    expect(full({ duration: 10, resolution: "1080p", generate_audio: false }).amount).toBe(1);
    expect(full({ duration: 10, resolution: "1080p" }).missing[0]?.reason).toBe("no-usage");
    expect(full({ duration: 10, resolution: "4k", generate_audio: true }).missing[0]?.reason).toBe(
      "no-price",
    );
  });
});

test("a batch costs its results, and requests with an unknown result are listed as missing", () => {
  const { raw: _, ...video } = task("gamma-video-1-5-pro-251215", {});
  const images = { model: "gamma-image-5-0-260128", images: [{ url: "https://files.example/1.png" }] };
  const failed = (billing: string) => Object.assign(new Error("lost"), { billing });
  const model = "gamma-image-5-0-260128";
  const items = [
    { id: "0", kind: "image", model, state: "done", result: images },
    { id: "1", kind: "image", model, state: "waiting" },
    { id: "2", kind: "image", model, state: "running" },
    { id: "3", kind: "image", model, state: "failed", error: failed("none") },
    { id: "4", kind: "image", model, state: "unconfirmed", error: failed("maybe") },
    { id: "5", kind: "video", model: video.model ?? "", state: "done", result: video },
  ] as const;
  expect(calculateCost(items, prices)).toEqual(
    coins(0.03, [
      { reason: "not-ended", model, count: 1 },
      { reason: "no-usage", model, count: 1 },
      { reason: "no-usage", model: "gamma-video-1-5-pro-251215", count: 1 },
    ]),
  );
  const request = { model: "gamma-video-1-5-pro-251215", duration: 10 };
  expect(calculateCost({ request, result: video }, prices)).toEqual(coins(0.4));
});

describe("events", () => {
  const end = (fields: object) =>
    ({
      type: "end",
      callId: "c",
      kind: "chat",
      path: "/v1/chat/completions",
      outcome: "complete",
      durationMs: 1,
      ...fields,
    }) as ClientEvent;
  const usage = { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 };

  test("a day costs the sum of its `end` events", () => {
    const events: readonly ClientEvent[] = [
      { type: "request", callId: "c", kind: "chat", path: "/v1/chat/completions", attempt: 1 },
      end({ model: "delta-5.3", usage }),
      end({ model: "delta-5.3", outcome: "error", error: { billing: "none" } }),
      end({ model: "delta-5.3", outcome: "not-sent" }),
      end({ kind: "image", model: "gamma-image-5-0-260128", usage: { generated_images: 2 } }),
      end({ kind: "asset", path: "/gamma/asset/CreateAsset", model: "gamma-asset", outcome: "complete" }),
      // polls of a task whose model is known
      end({ kind: "video", path: "/v1/video/generations/t", model: "beta3.0-video" }),
      end({ kind: "upload", path: "/v1/media" }),
      { type: "storage-recovered" },
    ];
    expect(calculateCost(events, prices)).toEqual(coins(0.0628));
  });

  test("a video and an image cost what their settings say", () => {
    const video = { kind: "video", path: "/v1/video/generations", model: "gamma-video-1-5-pro-251215" };
    const image = { kind: "image", path: "/v1/images/generations", model: "gamma-image-4-0-250828" };
    expect(
      calculateCost(
        [
          end({ ...video, settings: { duration: 5, resolution: "720p", generate_audio: true } }),
          end({ ...image, settings: { size: "4096x4096" }, usage: { generated_images: 2 } }),
        ],
        prices,
      ),
    ).toEqual(coins(0.46));
  });

  test("a receipt costs as its event does, and one that may be billed is listed as missing", () => {
    const receipt = {
      kind: "chat",
      path: "/v1/chat/completions",
      model: "delta-5.3",
      attempts: 1,
    };
    expect(
      calculateCost(
        [
          { ...receipt, billing: "yes", usage },
          { ...receipt, billing: "maybe", usage },
          { ...receipt, billing: "maybe" },
          { ...receipt, billing: "refused" },
          { ...receipt, billing: "none" },
        ],
        prices,
      ),
    ).toEqual(coins(0.0036, [{ reason: "no-usage", model: "delta-5.3", count: 1 }]));
  });

  test("calls without a cost in their events are listed as missing", () => {
    const events = [
      end({ model: "delta-5.3", outcome: "truncated" }),
      end({ kind: "video", model: "beta3.0-video", outcome: "complete", path: "/v1/video/generations" }),
      end({ kind: "epsilon", outcome: "complete", path: "/epsilon/v1/videos/text2video" }),
    ];
    expect(calculateCost(events, prices)).toEqual(
      coins(0, [
        { reason: "no-usage", model: "delta-5.3", count: 1 },
        { reason: "no-usage", model: "beta3.0-video", count: 1 },
        { reason: "unknown-model", count: 1 },
      ]),
    );
  });
});

describe("sums", () => {
  test("a sum is exact, in any order and however it is grouped", () => {
    const messages = Array.from({ length: 3000 }, (_, at) => {
      const [prompt_tokens, completion_tokens] = [(at * 7919) % 9973, (at * 104_729) % 4999];
      return createReply({
        usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
      });
    });
    // millionths of millionths: 0.6 and 2.4 coins for a million tokens
    const exact = messages.reduce((sum, { usage }) => {
      const { prompt_tokens = 0, completion_tokens = 0 } = usage ?? {};
      return sum + BigInt(prompt_tokens) * 600_000n + BigInt(completion_tokens) * 2_400_000n;
    }, 0n);
    const amount = Number(`${exact / 10n ** 12n}.${String(exact % 10n ** 12n).padStart(12, "0")}`);
    expect(calculateCost(messages, prices).amount).toBe(amount);
    expect(calculateCost([...messages].reverse(), prices).amount).toBe(amount);
    const each = messages.map((message) => calculateCost(message, prices));
    expect(calculateCost(each, prices).amount).toBe(amount);
    const halves = [messages.slice(0, 1234), messages.slice(1234)].map((half) => calculateCost(half, prices));
    expect(calculateCost(halves, prices).amount).toBe(amount);
  });

  test("costs are added without rounding errors", () => {
    const of = (amount: number): Cost => ({ amount, currency: "coins", missing: [] });
    expect(0.1 + 0.2).not.toBe(0.3);
    expect(calculateCost([of(0.1), of(0.2)], prices).amount).toBe(0.3);
    expect(calculateCost([of(123_456_789.1), of(0.000_000_2)], prices).amount).toBe(123_456_789.1000002);
    expect(
      calculateCost(
        Array.from({ length: 1000 }, () => of(0.000_000_001)),
        prices,
      ).amount,
    ).toBe(0.000_001);
  });

  test("a cost survives JSON, with its missing costs", () => {
    const cost = calculateCost([createReply(), createReply({ model: "new-1" })], prices);
    expect(calculateCost([JSON.parse(JSON.stringify(cost)), cost], prices)).toEqual(
      coins(0.0036, [{ reason: "unknown-model", model: "new-1", count: 2 }]),
    );
  });

  test("costs of two currencies are not added", () => {
    const other: Cost = { amount: 1, currency: "shells", missing: [] };
    expect(() => calculateCost([createReply(), other], prices)).toThrow(
      "calculateCost: adds shells to coins",
    );
  });

  test("a value without a cost is an error that names it", () => {
    expect(() => calculateCost({ url: "https://files.example" } as never, prices)).toThrow(
      "knows no cost of { url }",
    );
    expect(() => calculateCost(undefined as never, prices)).toThrow("give a message");
  });
});

describe("tables", () => {
  const withRow = (row: object) => ({ currency: "coins", models: { "m-1": row } }) as Prices;

  test.each([
    ["a negative price", withRow({ input: -1, output: 1 }), "models.m-1.input"],
    ["a text", withRow({ input: "1", output: 1 }), "models.m-1.input"],
    ["no number", withRow({ input: Number.NaN, output: 1 }), "models.m-1.input"],
    ["a price that six decimals make free", withRow({ input: 1e-9, output: 1 }), "models.m-1.input"],
    ["an unknown field", withRow({ inputs: 1 }), "models.m-1.inputs"],
    ["a size for tokens", withRow({ input: { big: 1 }, output: 1 }), "models.m-1.input"],
    ["a size without a price", withRow({ image: { "1x1": null } }), "models.m-1.image.1x1"],
    ["sizes without one", withRow({ image: {} }), "models.m-1.image"],
    ["a cached price alone", withRow({ cachedInput: 1, output: 1 }), "give input as well"],
    [
      "a cached price above the other",
      withRow({ input: 1, cachedInput: 2, output: 1 }),
      "is more than input",
    ],
    ["a model without prices", withRow({}), "models.m-1: has no price"],
    ["no currency", { ...withRow({ input: 1 }), currency: "" }, "currency: give a text"],
    ["no models", { currency: "coins" } as never, "models: give the prices"],
    ["no table", undefined as never, "currency: give a text"],
  ])("a table with %s is refused, and the field named", (_name, table, text) => {
    expect(() => definePrices(table)).toThrow(text);
    expect(() => calculateCost(createReply(), table)).toThrow(text);
  });

  test("a model named like an Object.prototype property has no price", () => {
    expect(calculateCost(createReply({ model: "constructor" }), prices).missing[0]?.reason).toBe(
      "unknown-model",
    );
  });
});
