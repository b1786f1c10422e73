import { describe, expect, test } from "vitest";
import {
  complete,
  createFastEmulator,
  createLeapingClock,
  createRequest,
  readMessage,
  type Usage,
} from "./support.js";

const models = ["alpha-v4.1-flash", "gamma-chat-1-6-251015", "delta-5.3"] as const;

describe("a completion", () => {
  test.each(models)("of %s has every documented field", async (model) => {
    const clock = createLeapingClock();
    const completion = await complete(
      createFastEmulator({ clock }),
      createRequest("Tell me about tea", { model }),
    );
    expect(completion).toMatchObject({
      object: "chat.completion",
      created: Date.UTC(2026, 2, 14) / 1000,
      model,
      choices: [{ index: 0, message: { role: "assistant", tool_calls: null }, finish_reason: "stop" }],
    });
    expect(completion.id).toMatch(/^chatcmpl-\w+$/);
    expect(completion.choices).toHaveLength(1);
    expect(completion.choices[0]?.message.content).toContain("tea");
    expect(completion.choices[0]?.message).toHaveProperty("reasoning_content");
  });

  test("reports usage in the shape of its model", async () => {
    const emulator = createFastEmulator();
    const usages = await Promise.all(
      models.map(
        async (model) => (await complete(emulator, createRequest("Tell me about tea", { model }))).usage,
      ),
    );
    const [alpha, gamma, delta] = usages as [Usage, Usage, Usage];
    const three = ["prompt_tokens", "completion_tokens", "total_tokens"];
    expect(Object.keys(alpha)).toEqual([
      ...three,
      "prompt_tokens_details",
      "prompt_cache_hit_tokens",
      "prompt_cache_miss_tokens",
    ]);
    expect(Object.keys(gamma)).toEqual(three);
    expect(Object.keys(delta)).toEqual([...three, "completion_tokens_details"]);
    for (const { prompt_tokens, completion_tokens, total_tokens } of usages)
      expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(delta.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
    expect(delta.completion_tokens_details?.reasoning_tokens).toBeLessThan(delta.completion_tokens);
  });

  test("counts the messages that an earlier request had in common as cached", async () => {
    const emulator = createFastEmulator();
    const first = createRequest("Tell me about the long history of tea");
    const next = {
      ...first,
      messages: [
        ...first.messages,
        { role: "assistant", content: "Gladly." },
        { role: "user", content: "Go on" },
      ],
    };
    const before = (await complete(emulator, first)).usage;
    const after = (await complete(emulator, next)).usage;
    expect(before).toMatchObject({
      prompt_cache_hit_tokens: 0,
      prompt_cache_miss_tokens: before.prompt_tokens,
    });
    expect(after.prompt_cache_hit_tokens).toBe(before.prompt_tokens);
    expect(after.prompt_tokens_details?.cached_tokens).toBe(before.prompt_tokens);
    expect(after.prompt_cache_miss_tokens).toBe(after.prompt_tokens - before.prompt_tokens);
  });

  test("keeps the caches of two end users apart", async () => {
    const emulator = createFastEmulator();
    await complete(emulator, createRequest("Tell me about tea", { user_id: "ada" }));
    const { usage } = await complete(emulator, createRequest("Tell me about tea", { user_id: "grace" }));
    expect(usage.prompt_cache_hit_tokens).toBe(0);
  });

  test("has the same text and id in two emulators", async () => {
    const clock = createLeapingClock();
    const [one, other] = await Promise.all([
      complete(createFastEmulator({ clock }), createRequest("Tell me about tea")),
      complete(createFastEmulator({ clock }), createRequest("Tell me about tea")),
    ]);
    expect(one).toEqual(other);
  });

  test("has the same text and id again after a reset", async () => {
    const emulator = createFastEmulator({ clock: createLeapingClock() });
    const first = await complete(emulator, createRequest("Tell me about tea"));
    expect((await complete(emulator, createRequest("Tell me about tea"))).id).not.toBe(first.id);
    emulator.reset();
    expect(emulator.requests).toHaveLength(0);
    expect(await complete(emulator, createRequest("Tell me about tea"))).toEqual(first);
  });

  test("takes the time of its tokens, and a quarter of it at four times the speed", async () => {
    const slow = createLeapingClock();
    const fast = createLeapingClock();
    await complete(createFastEmulator({ clock: slow, speed: 1 }), createRequest("Tell me about tea"));
    await complete(createFastEmulator({ clock: fast, speed: 4 }), createRequest("Tell me about tea"));
    expect(slow.sleeps).toHaveLength(1);
    expect(slow.sleeps[0]).toBeGreaterThan(1000);
    expect(fast.sleeps[0]).toBeCloseTo((slow.sleeps[0] as number) / 4);
  });
});

describe("thinking", () => {
  test.each([
    ["alpha thinks by default", {}, true],
    ["alpha thinks when thinking is null", { thinking: null }, true],
    ["alpha stops thinking when told to", { thinking: { type: "disabled" } }, false],
    ["alpha stops thinking at effort none", { reasoning_effort: "none" }, false],
    ["gamma never thinks", { model: "gamma-chat-1-6-251015" }, false],
    ["delta always thinks", { model: "delta-5.3" }, true],
  ])("%s", async (_, fields, thinks) => {
    const { reasoning_content } = await readMessage(
      createFastEmulator(),
      createRequest("Tell me about tea", fields),
    );
    if (thinks) expect(reasoning_content).toContain("tea");
    else expect(reasoning_content).toBeNull();
  });

  test("is longer for more effort", async () => {
    const emulator = createFastEmulator();
    const lengths = await Promise.all(
      ["low", "high", "max"].map(async (reasoning_effort) => {
        const { reasoning_content } = await readMessage(
          emulator,
          createRequest("Tell me about tea", { reasoning_effort }),
        );
        return reasoning_content?.length ?? 0;
      }),
    );
    expect(lengths).toEqual(lengths.toSorted((a, b) => a - b));
    expect(new Set(lengths).size).toBe(3);
  });
});

describe("limits", () => {
  test.each([1, 2, 7, 40, 100])(
    "max_tokens %i is never exceeded, and thinking leaves tokens for text",
    async (max_tokens) => {
      const { choices, usage } = await complete(
        createFastEmulator(),
        createRequest("Tell me about tea", { max_tokens }),
      );
      expect(usage.completion_tokens).toBeLessThanOrEqual(max_tokens);
      expect(choices[0]?.finish_reason).toBe("length");
      expect(choices[0]?.message.content).not.toBe("");
    },
  );

  test("a response within max_tokens ends by itself", async () => {
    const { choices } = await complete(createFastEmulator(), createRequest("hi", { max_tokens: 5000 }));
    expect(choices[0]?.finish_reason).toBe("stop");
  });

  test("the first of the stop sequences ends the text before itself", async () => {
    const emulator = createFastEmulator();
    const whole = (await readMessage(emulator, createRequest("Tell me about tea"))).content ?? "";
    const stop = ["never said", whole.slice(60, 75), whole.slice(30, 45)];
    const { choices } = await complete(emulator, createRequest("Tell me about tea", { stop }));
    expect(choices[0]?.message.content).toBe(whole.slice(0, 30));
    expect(choices[0]?.finish_reason).toBe("stop");
    const one = await readMessage(
      emulator,
      createRequest("Tell me about tea", { stop: whole.slice(60, 75) }),
    );
    expect(one.content).toBe(whole.slice(0, 60));
  });
});

describe("the text of a reply", () => {
  test("is short for a greeting and long for a question", async () => {
    const emulator = createFastEmulator();
    const greeting = (await readMessage(emulator, createRequest("hi"))).content ?? "";
    const text = (await readMessage(emulator, createRequest("Tell me about tea"))).content ?? "";
    expect(greeting.length).toBeLessThan(100);
    expect(text.length).toBeGreaterThan(300);
  });

  test("differs from prompt to prompt and from model to model", async () => {
    const emulator = createFastEmulator();
    const prompts = ["Plan my day", "Plan my week", "Plan my year"];
    const requests = prompts.flatMap((prompt) => models.map((model) => createRequest(prompt, { model })));
    const texts = await Promise.all(
      requests.map(async (request) => (await readMessage(emulator, request)).content),
    );
    expect(new Set(texts).size).toBe(9);
  });

  test("shows a heading, a table, code and other scripts when the prompt requests Markdown", async () => {
    const { content } = await readMessage(createFastEmulator(), createRequest("Show me some Markdown"));
    for (const sign of [
      /^## /m,
      /^\| --- \|/m,
      /^```ts$/m,
      /\p{Script=Han}/u,
      /\p{Script=Arabic}/u,
      /\p{Script=Devanagari}/u,
      /👨‍👩‍👧‍👦/u,
    ])
      expect(content).toMatch(sign);
  });

  test("mentions the turn in a follow-up, and the prompt before it", async () => {
    const { content } = await readMessage(createFastEmulator(), {
      model: "delta-5.3",
      messages: [
        { role: "user", content: "Tell me about tea" },
        { role: "assistant", content: "Gladly." },
        { role: "user", content: "And how do I brew it well?" },
      ],
    });
    expect(content).toMatch(/turn 2/i);
    expect(content).toContain("Tell me about tea");
  });

  test("lists every fault for a question about its abilities", async () => {
    const { content } = await readMessage(createFastEmulator(), createRequest("What can you do?"));
    for (const fault of [
      "429",
      "500",
      "slow",
      "stall",
      "truncate",
      "unconfirmed",
      "drop",
      "malformed",
      "error-frame",
      "length",
      "filter",
      "json",
    ])
      expect(content).toContain(`[[${fault}]]`);
  });

  test("counts images, with the type and size of inline ones", async () => {
    const gif = Buffer.from("GIF89a, more or less").toString("base64");
    const { content } = await readMessage(createFastEmulator(), {
      model: "alpha-v4.1-flash",
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is in these?" },
            { type: "image_url", image_url: { url: `data:image/gif;base64,${gif}` } },
            { type: "image_url", image_url: { url: "https://pictures.example/cat.png", detail: "low" } },
          ],
        },
      ],
    });
    expect(content).toContain("2 images");
    expect(content).toContain("image/gif of 20 bytes");
    expect(content).toContain("pictures.example");
  });

  test("is valid JSON in JSON mode", async () => {
    const request = createRequest("Describe tea as JSON", { response_format: { type: "json_object" } });
    const { content } = await readMessage(createFastEmulator(), request);
    expect(JSON.parse(content ?? "")).toMatchObject({ topic: "tea as JSON", turn: 1 });
  });

  test.each<[string, object[]]>([
    [
      "in the instructions",
      [
        { role: "system", content: 'Answer as JSON, as in {"teas": [{"name": "Assam"}]}.' },
        { role: "user", content: "Teas" },
      ],
    ],
    [
      "in the question",
      [{ role: "user", content: 'Teas as JSON, such as {} or {"teas": [{"name": "Assam"}]}' }],
    ],
  ])("follows the example %s in JSON mode, as a model does", async (_, messages) => {
    const request = { ...createRequest(""), messages, response_format: { type: "json_object" } };
    const { content } = await readMessage(createFastEmulator(), request);
    expect(JSON.parse(content ?? "")).toEqual({ teas: [{ name: "Assam" }] });
  });

  test("comes from the option chat, within the limits of the request", async () => {
    const emulator = createFastEmulator({
      chat: ({ messages }) =>
        messages.length === 1
          ? {
              content: "Green or black?",
              reasoning: "Let me ask.",
              toolCalls: [{ name: "brew", arguments: { cups: 2 } }],
            }
          : undefined,
    });
    const message = await readMessage(emulator, createRequest("Tea, please"));
    expect(message).toMatchObject({ content: "Green or black?", reasoning_content: "Let me ask." });
    expect(message.tool_calls?.[0]?.function).toEqual({ name: "brew", arguments: '{"cups":2}' });
    const cut = await readMessage(
      emulator,
      createRequest("Tea, please", { reasoning_effort: "none", stop: " or" }),
    );
    expect(cut).toMatchObject({ content: "Green", reasoning_content: null });
  });
});
