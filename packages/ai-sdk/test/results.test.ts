import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { generateImage, generateText, streamText } from "ai";
import { describe, expect, test } from "vitest";
import { open, routes } from "./support/routes.js";

const prompt = "Tell me of rivers";
const IMAGE = "gamma-image-4-0-250828";

/** Reads the parts of a stream up to its end or its error. */
async function readParts(opened: ReturnType<typeof open>, text: string) {
  const { stream, response } = await opened.sluice("delta-5.3").doStream({
    prompt: [{ role: "user", content: [{ type: "text", text }] }],
  });
  const parts: LanguageModelV4StreamPart[] = [];
  const reading = async () => {
    for await (const part of stream) parts.push(part);
  };
  await reading().catch(() => {});
  return { parts, response };
}

describe.each(routes)("the result of a call, through the %s", (route) => {
  const requestId = expect.stringMatching(/\S/);
  const headers = expect.objectContaining({ "x-request-id": requestId });

  test("generateText has the headers, and the gateway's id of the request, the id and the time of the response", async () => {
    const { sluice } = open(route);
    const { response, providerMetadata } = await generateText({ model: sluice("delta-5.3"), prompt });
    expect(response).toMatchObject({ headers, id: expect.stringMatching(/^chatcmpl/), modelId: "delta-5.3" });
    // the gateway's time is in whole seconds
    expect(response.timestamp.getMilliseconds()).toBe(0);
    expect(providerMetadata?.sluice?.requestId).toBe(response.headers?.["x-request-id"]);
  });

  test("streamText has the headers, ids and time of the response", async () => {
    const { sluice } = open(route);
    const result = streamText({ model: sluice("delta-5.3"), prompt });
    await result.consumeStream();
    const { response, providerMetadata } = await result.finalStep;
    expect(response).toMatchObject({ headers, id: expect.stringMatching(/^chatcmpl/) });
    expect(providerMetadata?.sluice?.requestId).toBe(response.headers?.["x-request-id"]);
  });

  test.each(["Hello", "Hello [[drop]]"])(
    "the stream of %s has id and time before its first text",
    async (text) => {
      const { parts, response } = await readParts(open(route), text);
      expect(response).toEqual({ headers });
      expect(parts.slice(0, 3)).toMatchObject([
        { type: "stream-start" },
        {
          type: "response-metadata",
          id: expect.stringMatching(/^chatcmpl/),
          modelId: "delta-5.3",
          timestamp: expect.toSatisfy((time: Date) => time.getMilliseconds() === 0),
        },
        { type: expect.stringMatching(/-start$/) },
      ]);
      expect(parts.filter(({ type }) => type === "response-metadata")).toHaveLength(1);
    },
  );

  test("generateImage has the headers and the time, and each image its own request id", async () => {
    const { sluice } = open(route);
    const { responses, providerMetadata } = await generateImage({
      model: sluice.imageModel(IMAGE),
      prompt,
      n: 2,
    });
    expect(responses).toMatchObject([{ headers, modelId: IMAGE, timestamp: expect.any(Date) }]);
    const images = providerMetadata.sluice?.images as { requestId: string }[];
    expect(new Set(images.map((image) => image.requestId)).size).toBe(2);
    expect(images[0]?.requestId).toBe(responses[0]?.headers?.["x-request-id"]);
  });
});

test("A key that a server repeats is in no header of a result", async () => {
  const { sluice } = open("gateway", {
    async network(request, send) {
      const { status, headers, body } = await send(request);
      const echoed = new Headers(headers);
      echoed.set("x-echo", request.headers.get("authorization") ?? "");
      return new Response(body, { status, headers: echoed });
    },
  });
  const { response } = await generateText({ model: sluice("delta-5.3"), prompt });
  expect(response.headers?.["x-echo"]).toBe("Bearer [redacted]");
});

describe("the warnings of a result", () => {
  const misspelt = { sluice: { reasoning_efort: "high" } };
  const createWarning = (text: string) => ({
    type: "other" as const,
    message: expect.stringContaining(text),
  });
  const tools = {
    get_time: { type: "function" as const, name: "get_time", inputSchema: { type: "object" as const } },
  };

  test.each([
    [
      "a temperature that has no effect",
      "alpha-v4.1-flash",
      { temperature: 0.5 },
      "chat.alpha.temperature-ignored",
      "temperature: ",
    ],
    [
      "a misspelt provider option",
      "delta-5.3",
      { providerOptions: misspelt },
      "chat.delta.unknown-field",
      "did you mean `reasoning_effort`",
    ],
  ])("contain %s, streamed or not", async (_, model, settings, rule, text) => {
    const { sluice } = open("gateway", { warnings: [rule] });
    const whole = await generateText({ model: sluice(model), prompt, ...settings });
    expect(whole.warnings).toEqual([createWarning(text)]);
    const streamed = streamText({ model: sluice(model), prompt, ...settings });
    await streamed.consumeStream();
    expect(await streamed.warnings).toEqual([createWarning(text)]);
  });

  test("contain tools that the model may ignore", async () => {
    const { sluice } = open("gateway", { warnings: ["chat.delta.tools-unlisted"] });
    const { warnings } = await sluice("delta-5.3").doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
      tools: [tools.get_time],
    });
    expect(warnings).toEqual([createWarning("tools: ")]);
  });

  test("contain a misspelled option once for all images", async () => {
    const { sluice } = open("gateway", { warnings: ["image.4-0.unknown-field"] });
    const providerOptions = { sluice: { watermrk: true } };
    const image = sluice.imageModel(IMAGE);
    const { warnings } = await generateImage({ model: image, prompt, n: 2, providerOptions });
    expect(warnings).toEqual([createWarning("did you mean `watermark`")]);
  });
});
