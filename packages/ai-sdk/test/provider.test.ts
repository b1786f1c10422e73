import type { LanguageModelV4StreamPart, ProviderV4, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { createSluice, type SluiceModelOptions } from "@sluice/ai-sdk";
import {
  createProviderRegistry,
  defaultSettingsMiddleware,
  generateText,
  ToolLoopAgent,
  wrapLanguageModel,
} from "ai";
import { describe, expect, expectTypeOf, test } from "vitest";
import { open, TOOLS_UNLISTED } from "./support/routes.js";

describe("createSluice", () => {
  test("The models have the name of the provider, and embedding models throw", () => {
    const { sluice } = open();
    expect(sluice("delta-5.3").provider).toBe("sluice.chat");
    expect(sluice.languageModel("delta-5.3").modelId).toBe("delta-5.3");
    expect(sluice.imageModel("a").provider).toBe("sluice.image");
    expect(sluice.videoModel("a").provider).toBe("sluice.video");
    expect(() => sluice.embeddingModel("a")).toThrow("No such embeddingModel: a");
    expectTypeOf(createSluice).returns.toExtend<ProviderV4>();
  });

  test("It works in a registry, in an agent and under middleware", async () => {
    const { sluice, gateway } = open();
    const registry = createProviderRegistry({ sluice });
    await generateText({ model: registry.languageModel("sluice:delta-5.3"), prompt: "Hello" });
    expect(registry.imageModel("sluice:gamma-image-5-0-260128").modelId).toBe("gamma-image-5-0-260128");
    await new ToolLoopAgent({ model: sluice("delta-5.3") }).generate({ prompt: "Hello" });
    const middleware = defaultSettingsMiddleware({ settings: { maxOutputTokens: 20 } });
    await generateText({
      model: wrapLanguageModel({ model: sluice("delta-5.3"), middleware }),
      prompt: "Hello",
    });
    expect(gateway.requests.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(gateway.requests[2]?.body).toMatchObject({ max_tokens: 20 });
  });
});

test("Fields of the gateway are typed by model, and fit providerOptions", () => {
  const chat: SluiceModelOptions<"alpha-v4.1-flash"> = { thinking: { type: "disabled" }, user_id: "user-1" };
  const delta: SluiceModelOptions<"delta-5.3"> = { reasoning_effort: "max" };
  const image: SluiceModelOptions<"gamma-image-5-0-260128"> = {
    watermark: true,
    logo_info: { add_logo: true },
  };
  const beta: SluiceModelOptions<"beta3.0-video"> = { prompt_extend: false };
  const gamma: SluiceModelOptions<"gamma-video-2.0"> = { return_last_frame: true };
  const all: SharedV4ProviderOptions = { chat, delta, image, beta, gamma };
  expect(Object.keys(all)).toHaveLength(5);
  // @ts-expect-error: this model lacks this effort
  const wrong: SluiceModelOptions<"delta-5.3"> = { reasoning_effort: "none" };
  expect(wrong).toBeDefined();
});

/** Lists the violations of the interface V4 in a stream. */
function listMistakes(parts: readonly LanguageModelV4StreamPart[]): string[] {
  const open = new Map<string, string>();
  const mistakes: string[] = [];
  parts.forEach((part, index) => {
    if ((part.type === "stream-start") !== (index === 0)) mistakes.push(`${part.type} at ${index}`);
    const [, kind, step] = /^(text|reasoning|tool-input)-(start|delta|end)$/.exec(part.type) ?? [];
    const id = "id" in part ? `${part.id}` : "";
    if (step === "start" && open.has(id)) mistakes.push(`${part.type} of ${id} twice`);
    if (step === "start" && kind) open.set(id, kind);
    else if (step && open.get(id) !== kind) mistakes.push(`${part.type} of ${id} before its start`);
    if (step === "end") open.delete(id);
    if (part.type === "finish" && index !== parts.length - 1) mistakes.push("finish is not last");
    if (part.type === "tool-call" && JSON.parse(part.input) === undefined) mistakes.push("input is no JSON");
  });
  if (parts.at(-1)?.type === "finish" && open.size > 0) mistakes.push(`open at the end: ${[...open.keys()]}`);
  return mistakes;
}

const tools = [
  {
    type: "function" as const,
    name: "get_depth",
    inputSchema: { type: "object" as const, properties: { river: { type: "string" as const } } },
  },
  { type: "function" as const, name: "get_time", inputSchema: { type: "object" as const, properties: {} } },
];

test.each([
  ["Hello", "finish"],
  ["Use get_depth for the Elbe", "finish"],
  ["Use get_time", "finish"],
  ["Hello [[length]]", "finish"],
  ["Hello [[filter]]", "finish"],
  ["Hello [[unconfirmed]]", "finish"],
  ["Hello [[malformed]]", "error"],
  ["Hello [[truncate]]", "error"],
  ["Hello [[drop]]", "error"],
  ["Hello [[error-frame]]", "error"],
  ["Hello [[json]]", "finish"],
])("The stream of %s follows the interface, and ends with %s", async (text, last) => {
  for (const model of ["alpha-v4.1-flash", "delta-5.3"]) {
    const warnings = [
      ...(model === "delta-5.3" ? [TOOLS_UNLISTED] : []),
      ...(text.includes("[[unconfirmed]]") ? ["chat.unconfirmed"] : []),
    ];
    const { stream } = await open("gateway", { warnings })
      .sluice(model)
      .doStream({ prompt: [{ role: "user", content: [{ type: "text", text }] }], tools });
    const parts: LanguageModelV4StreamPart[] = [];
    const reading = async () => {
      for await (const part of stream) parts.push(part);
    };
    if (last === "error") await expect(reading()).rejects.toThrow();
    else await reading();
    expect(listMistakes(parts), model).toEqual([]);
    expect(parts.at(-1)?.type).toBe(last);
  }
});
