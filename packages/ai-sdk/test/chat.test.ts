import { systemClock } from "@sluice/core/extend";
import {
  generateObject,
  generateText,
  isStepCount,
  NoObjectGeneratedError,
  Output,
  streamText,
  tool,
} from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { chatModels, open, routes, TOOLS_UNLISTED } from "./support/routes.js";

const CHAT = "/v1/chat/completions";
const prompt = "Tell me of rivers";
const thinking = ["alpha-v4.1-flash", "delta-5.3"] as const;
const tools = {
  get_depth: tool({
    description: "The depth of a river in metres",
    inputSchema: z.object({ river: z.string() }),
    execute: async () => "7 metres",
  }),
};

const listToolWarnings = (model: string) => (model === "delta-5.3" ? [TOOLS_UNLISTED] : []);

describe.each(routes)("the chat models, through the %s", (route) => {
  test.each(chatModels)("%s returns the message and usage to generateText", async (model) => {
    const { sluice, listPaid } = open(route);
    const result = await generateText({ model: sluice(model), prompt });
    expect(result.text.length).toBeGreaterThan(20);
    expect(result.finishReason).toBe("stop");
    expect(result.usage.totalTokens).toBeGreaterThan(0);
    expect(result.response.modelId).toBe(model);
    expect(listPaid(CHAT)).toHaveLength(1);
  });

  test.each(chatModels)("%s streams the same text as its parts", async (model) => {
    const { sluice, listPaid } = open(route, {
      client: { gateway: { includeUsage: true }, clock: systemClock },
    });
    const result = streamText({ model: sluice(model), prompt });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    expect(text).toBe(await result.text);
    expect(await result.finishReason).toBe("stop");
    expect((await result.usage).outputTokens).toBeGreaterThan(0);
    expect((await result.finalStep).providerMetadata?.sluice).toMatchObject({ outcome: "complete" });
    expect(listPaid(CHAT)).toHaveLength(1);
  });

  test.each(thinking)(
    "%s shows its thinking, and the next request sends it back with the tool result",
    async (model) => {
      const { sluice, gateway, listPaid } = open(route, { warnings: listToolWarnings(model) });
      const result = streamText({
        model: sluice(model),
        prompt: "Use get_depth for the Elbe",
        tools,
        stopWhen: isStepCount(3),
      });
      expect(await result.text).toContain("7 metres");
      const [first] = await result.steps;
      expect(first?.reasoningText?.length).toBeGreaterThan(0);
      expect(first?.toolResults).toMatchObject([{ toolName: "get_depth", output: "7 metres" }]);
      expect(gateway.requests.at(-1)?.body).toMatchObject({
        messages: [
          { role: "user" },
          {
            role: "assistant",
            reasoning_content: first?.reasoningText,
            tool_calls: [{ function: { name: "get_depth" } }],
          },
          { role: "tool", content: "7 metres" },
        ],
      });
      expect(listPaid(CHAT)).toHaveLength(2);
    },
  );

  test.each(thinking)("%s runs a tool in generateText, in two steps", async (model) => {
    const { sluice, listPaid } = open(route, { warnings: listToolWarnings(model) });
    const result = await generateText({
      model: sluice(model),
      prompt: "Use get_depth for the Elbe",
      tools,
      stopWhen: isStepCount(3),
    });
    expect(result.text).toContain("7 metres");
    expect(result.steps).toHaveLength(2);
    expect(listPaid(CHAT)).toHaveLength(2);
  });

  const schema = z.object({
    river: z.string().min(3),
    locks: z.int().min(0).max(7),
    banks: z.array(z.string()).length(2),
  });

  test.each(chatModels)(
    "%s responds with an object of a schema, which it reads in the instructions",
    async (model) => {
      const { sluice, gateway, listPaid } = open(route);
      const { output } = await generateText({
        model: sluice(model),
        prompt,
        output: Output.object({ schema }),
      });
      expect(output.banks).toHaveLength(2);
      const { object } = await generateObject({ model: sluice(model), prompt, schema });
      expect(schema.parse(object)).toEqual(object);
      for (const { body } of gateway.requests) {
        const { messages, response_format } = body as {
          messages: { role: string; content: string }[];
          response_format?: object;
        };
        expect(messages[0]).toMatchObject({ role: "system", content: expect.stringContaining('"locks"') });
        expect(response_format).toEqual(model === "alpha-v4.1-flash" ? { type: "json_object" } : undefined);
      }
      expect(listPaid(CHAT)).toHaveLength(2);
    },
  );

  test("An object streams as growing partial objects", async () => {
    const { sluice } = open(route);
    const result = streamText({
      model: sluice("alpha-v4.1-flash"),
      prompt,
      output: Output.object({ schema }),
    });
    const pieces = [];
    for await (const piece of result.partialOutputStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(await result.output).toEqual(pieces.at(-1));
  });
});

describe("the settings of a call", () => {
  test("Settings that a model lacks are dropped with a warning", async () => {
    const { sluice, gateway } = open();
    const { warnings } = await generateText({
      model: sluice("delta-5.3"),
      prompt,
      topK: 5,
      seed: 7,
      presencePenalty: 1,
      frequencyPenalty: 1,
      reasoning: "none",
      temperature: 0.5,
      topP: 0.9,
      maxOutputTokens: 50,
      stopSequences: ["END"],
    });
    expect(warnings?.map((warning) => "feature" in warning && warning.feature)).toEqual([
      "topK",
      "seed",
      "presencePenalty",
      "frequencyPenalty",
      "reasoning: none",
    ]);
    const { messages: _, ...settings } = (gateway.requests[0]?.body ?? {}) as Record<string, unknown>;
    expect(settings).toEqual({
      model: "delta-5.3",
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 50,
      stop: "END",
    });
  });

  test.each([
    ["alpha-v4.1-flash", "none", "none", 0],
    ["alpha-v4.1-flash", "minimal", "low", 1],
    ["delta-5.3", "medium", "high", 1],
    ["delta-5.3", "xhigh", "max", 1],
    ["delta-5.3", "high", "high", 0],
    ["gamma-chat-1-6-251015", "high", undefined, 1],
  ] as const)("%s thinks with the effort %s as %s", async (model, reasoning, effort, count) => {
    const { sluice, gateway } = open();
    const { warnings } = await generateText({ model: sluice(model), prompt, reasoning });
    expect(JSON.stringify(gateway.requests[0]?.body).match(/"reasoning_effort":"(\w+)"/)?.[1]).toBe(effort);
    expect(warnings).toHaveLength(count);
  });

  test("Tools are dropped with a warning for a model without tools", async () => {
    const { sluice, gateway } = open();
    const { warnings } = await generateText({ model: sluice("gamma-chat-1-6-251015"), prompt, tools });
    expect(warnings).toMatchObject([{ type: "unsupported", feature: "tools" }]);
    expect(gateway.requests[0]?.unknownFields).toEqual([]);
    expect(gateway.requests[0]?.body).not.toHaveProperty("tools");
  });

  test("Fields of providerOptions go into the request, and headers with it, but not the SDK's user-agent", async () => {
    const { sluice, gateway } = open();
    await generateText({
      model: sluice("alpha-v4.1-flash"),
      prompt,
      headers: { "x-team": "rivers" },
      providerOptions: {
        sluice: { thinking: { type: "disabled" }, user_id: "user-1" },
        other: { user_id: "nobody" },
      },
    });
    expect(gateway.requests[0]).toMatchObject({
      body: { thinking: { type: "disabled" }, user_id: "user-1" },
      headers: { "x-team": "rivers" },
    });
    expect(gateway.requests[0]?.headers["user-agent"] ?? "").not.toContain("ai/");
  });

  test("An unknown model gets every setting, without checks", async () => {
    const sent: Record<string, unknown>[] = [];
    const { sluice } = open("gateway", {
      client: {
        gateway: { includeUsage: true },
        fetch: async (request) => {
          sent.push(await request.json());
          const chunks = [
            {
              id: "a",
              model: "alpha-v9",
              choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: "stop" }],
            },
            {
              choices: [],
              usage: {
                prompt_tokens: 3,
                completion_tokens: 2,
                total_tokens: 5,
                prompt_tokens_details: { cached_tokens: 1 },
                completion_tokens_details: { reasoning_tokens: 1 },
              },
            },
          ];
          const body = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`;
          return new Response(body, { headers: { "content-type": "text/event-stream" } });
        },
      },
    });
    const result = streamText({ model: sluice("alpha-v9"), prompt, seed: 7, reasoning: "medium" });
    expect(await result.text).toBe("Hello");
    expect(sent).toMatchObject([
      { model: "alpha-v9", seed: 7, reasoning_effort: "medium", stream_options: { include_usage: true } },
    ]);
    expect(await result.usage).toMatchObject({
      inputTokens: 3,
      inputTokenDetails: { noCacheTokens: 2, cacheReadTokens: 1 },
      outputTokens: 2,
      outputTokenDetails: { textTokens: 1, reasoningTokens: 1 },
    });
  });

  test("Images are sent as links or bytes, and texts as text", async () => {
    const { sluice, gateway } = open();
    const png = Uint8Array.from(
      atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="),
      (letter) => letter.charCodeAt(0),
    );
    await generateText({
      model: sluice("alpha-v4.1-flash"),
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "file", mediaType: "image", data: new URL("https://images.example/reef.png") },
            { type: "file", mediaType: "image", data: png },
            { type: "file", mediaType: "text/plain", data: new TextEncoder().encode("A note") },
          ],
        },
      ],
    });
    expect(gateway.requests[0]?.body).toMatchObject({
      messages: [
        {
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "https://images.example/reef.png" } },
            { type: "image_url", image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBOR/) } },
            { type: "text", text: "A note" },
          ],
        },
      ],
    });
  });

  test.each([
    ["application/json", '{"river":"Elbe"}'],
    ["application/csv", "river,metres"],
    ["application/ld+json", "{}"],
    ["application/xml", "<river/>"],
    ["application/yaml", "river: Elbe"],
    ["application/x-ndjson", "{}"],
    ["application/sql", "select 1"],
    ["application/javascript", "let river"],
    ["text/csv; charset=utf-8", "river,Oderbrücke"],
    ["Application/JSON", "{}"],
  ])("A file of type %s is sent as text, from bytes and from a data URI", async (mediaType, text) => {
    const { sluice, gateway } = open();
    const bytes = new TextEncoder().encode(text);
    const base64 = btoa(String.fromCharCode(...bytes));
    const uris = [`data:${mediaType};base64,${base64}`, `data:${mediaType},${encodeURIComponent(text)}`];
    for (const data of [bytes, ...uris.map((uri) => new URL(uri))])
      await sluice("alpha-v4.1-flash").doGenerate({
        prompt: [
          {
            role: "user",
            content: [
              {
                type: "file",
                mediaType,
                data: data instanceof URL ? { type: "url", url: data } : { type: "data", data },
              },
            ],
          },
        ],
      });
    expect(gateway.requests.map(({ body }) => body)).toMatchObject(
      Array.from({ length: 3 }, () => ({ messages: [{ role: "user", content: text }] })),
    );
  });

  test("A file type that no model reads is an error, and nothing is sent", async () => {
    const { sluice, gateway } = open();
    const content = [{ type: "file" as const, mediaType: "application/pdf", data: new Uint8Array(9) }];
    const call = generateText({ model: sluice("alpha-v4.1-flash"), messages: [{ role: "user", content }] });
    await expect(call).rejects.toThrow("no file of type application/pdf");
    expect(gateway.requests).toEqual([]);
  });

  test("A tool call that the user denied is sent back with the reason", async () => {
    const { sluice, gateway } = open("gateway", { warnings: [TOOLS_UNLISTED] });
    const call = { toolCallId: "call-1", toolName: "get_depth" };
    await generateText({
      model: sluice("delta-5.3"),
      tools,
      messages: [
        { role: "user", content: prompt },
        { role: "assistant", content: [{ type: "tool-call", ...call, input: { river: "Elbe" } }] },
        {
          role: "tool",
          content: [
            { type: "tool-result", ...call, output: { type: "execution-denied", reason: "too deep" } },
          ],
        },
      ],
    });
    expect(gateway.requests[0]?.body).toMatchObject({
      messages: [
        {},
        { role: "assistant", content: null },
        { role: "tool", tool_call_id: "call-1", content: "too deep" },
      ],
    });
  });

  test("A message that does not match its schema is the error of the SDK, and is not requested again", async () => {
    const { sluice, listPaid } = open("gateway", { emulator: { chat: () => "no JSON" } });
    const call = generateObject({
      model: sluice("delta-5.3"),
      prompt,
      schema: z.object({ river: z.string() }),
    });
    await expect(call).rejects.toSatisfy(NoObjectGeneratedError.isInstance);
    expect(listPaid(CHAT)).toHaveLength(1);
  });
});
