import { checkRequest, models } from "@sluice/core/schemas";
import { createEmulator } from "@sluice/emulator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

/*
 * Requests from the capability tables, also with one random change: the emulator responds to each with 200 or 400, even
 * to unknown or odd fields. It uses the schemas of the client, so this test doesn't check them against the spec. The
 * rules in tests/rules do, with responses written by hand.
 */

interface Endpoint {
  readonly path: string;
  readonly check: (request: unknown) => { readonly issues: readonly unknown[] };
}

const url = fc.constantFrom("https://media.example.com/a.png", "https://media.example.com/b.mp4");
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const oneOf = <T>(values: readonly T[]) => fc.constantFrom(...values);
const text = fc.string({ minLength: 1, maxLength: 40 });
/** Without the keys that are undefined: JSON has none. */
const record = <T extends object>(shape: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) =>
  fc.record(shape).map((value) => JSON.parse(JSON.stringify(value)) as Record<string, unknown>);

const message = fc.oneof(
  record({ role: oneOf(["system", "user", "assistant"]), content: text }),
  record({
    role: fc.constant("user"),
    content: fc.array(record({ type: fc.constant("text"), text }), { minLength: 1 }),
  }),
);
const messages = fc.array(message, { minLength: 1, maxLength: 4 });

const chat = fc.oneof(
  record({
    model: fc.constant("alpha-v4.1-flash"),
    messages,
    thinking: optional(record({ type: oneOf(models["alpha-v4.1-flash"].thinking) })),
    reasoning_effort: optional(oneOf(models["alpha-v4.1-flash"].reasoningEffort)),
    max_tokens: optional(fc.integer({ min: 1, max: models["alpha-v4.1-flash"].maxTokens })),
    stop: optional(fc.array(text, { maxLength: 16 })),
    temperature: optional(fc.integer({ min: 0, max: 20 }).map((tenths) => tenths / 10)),
    top_p: optional(fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10)),
    presence_penalty: optional(fc.integer({ min: -2, max: 2 })),
  }),
  record({
    model: fc.constant("gamma-chat-1-6-251015"),
    messages,
    max_tokens: optional(fc.integer({ min: 1, max: models["gamma-chat-1-6-251015"].maxTokens })),
    stop: optional(text),
  }),
  record({
    model: fc.constant("delta-5.3"),
    messages,
    reasoning_effort: optional(oneOf(models["delta-5.3"].reasoningEffort)),
    max_tokens: optional(fc.integer({ min: 1, max: models["delta-5.3"].maxTokens })),
    stop: optional(fc.array(text, { maxLength: 4 })),
  }),
);

const image = oneOf(Object.values(models).filter((model) => model.kind === "image")).chain(({ id, sizes }) =>
  record({
    model: fc.constant(id),
    prompt: text,
    size: optional(oneOf<string>(sizes)),
    seed: optional(fc.integer()),
    watermark: optional(fc.boolean()),
    image: optional(fc.array(url, { minLength: 1, maxLength: 3 })),
  }),
);

const betaMedia = fc.oneof(
  fc.constant([{ type: "first_frame", url: "https://media.example.com/a.png" }]),
  fc.array(record({ type: oneOf(["reference_image", "reference_video", "reference_audio"]), url }), {
    minLength: 1,
    maxLength: 5,
  }),
  fc.array(record({ type: oneOf(["file", "link"]), url }), { minLength: 1, maxLength: 1 }),
);
const beta = models["beta3.0-video"];
const gamma = oneOf(["gamma-video-2.0", "gamma-video-fast"] as const);
const textItem = record({ type: fc.constant("text"), text });

const video = fc.oneof(
  record({
    model: oneOf(["beta3.0-video", "beta3.0-video-prime"]),
    input: record({ prompt: fc.constant("A river at dawn"), media: optional(betaMedia) }),
    parameters: optional(
      record({
        resolution: optional(oneOf<string>(beta.resolutions)),
        ratio: optional(oneOf<string>(beta.ratios)),
        duration: optional(fc.oneof(fc.constant(-1), fc.integer({ min: 2, max: 30 }))),
        seed: optional(fc.integer({ min: 0, max: beta.seed.max })),
      }),
    ),
  }),
  record({
    model: fc.constant("gamma-video-1-5-pro-251215"),
    content: fc.tuple(textItem),
    ratio: optional(oneOf<string>(models["gamma-video-1-5-pro-251215"].ratios)),
    duration: optional(fc.integer({ min: 4, max: 12 })),
    camera_fixed: optional(fc.boolean()),
  }),
  gamma.chain((model) =>
    record({
      model: fc.constant(model),
      content: fc.tuple(textItem),
      resolution: optional(oneOf<string>(models[model].resolutions)),
      ratio: optional(oneOf<string>(models[model].ratios)),
      duration: optional(fc.integer({ min: 4, max: 15 })),
    }),
  ),
);

const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    "1080p",
    "4k",
    "auto",
    -1,
    0,
    1.5,
    1e9,
    true,
    [],
    {},
    "asset://x",
    "data:image/png;base64,AAAA",
  ),
  fc.integer(),
  fc.string({ maxLength: 10 }),
);

/** `request` with one of its values, however deep, or a new field, replaced by something else. */
function changed(request: Record<string, unknown>, at: number, value: unknown): unknown {
  const copy = structuredClone(request);
  const targets: [holder: Record<string, unknown>, key: string][] = [[copy, "extra"]];
  const visit = (holder: Record<string, unknown>) => {
    for (const key of Object.keys(holder)) {
      targets.push([holder, key]);
      const inner = holder[key];
      if (typeof inner === "object" && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(copy);
  const [holder, key] = targets[at % targets.length] as [Record<string, unknown>, string];
  holder[key] = value;
  return copy;
}

async function refuses({ path }: Endpoint, request: unknown): Promise<boolean> {
  const emulator = createEmulator({ apiKeys: ["sk-test"], speed: Number.POSITIVE_INFINITY });
  const response = await emulator.fetch(`https://gateway.test${path}`, {
    method: "POST",
    headers: { authorization: "Bearer sk-test", "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  await response.body?.cancel();
  expect([200, 400]).toContain(response.status);
  return response.status === 400;
}

describe.each<[string, Endpoint, fc.Arbitrary<Record<string, unknown>>]>([
  ["chat", { path: "/v1/chat/completions", check: checkRequest }, chat],
  ["images", { path: "/v1/images/generations", check: checkRequest }, image],
  ["video", { path: "/v1/video/generations", check: checkRequest }, video],
])("%s", (_, endpoint, arbitrary) => {
  test("requests made from the tables get a response", () =>
    fc.assert(
      fc.asyncProperty(arbitrary, async (request) => {
        expect(endpoint.check(request).issues).toEqual([]);
        expect(await refuses(endpoint, request)).toBe(false);
      }),
      { seed: 7, numRuns: 150 },
    ));

  test("changed requests get a response or a refusal, in agreement with their check", () =>
    fc.assert(
      fc.asyncProperty(arbitrary, fc.nat(), junk, async (request, at, value) => {
        const mutant = changed(request, at, value);
        // only the gateway knows if an asset exists
        fc.pre(!JSON.stringify(mutant).includes("asset://"));
        expect(await refuses(endpoint, mutant)).toBe(endpoint.check(mutant).issues.length > 0);
      }),
      { seed: 7, numRuns: 400 },
    ));
});
