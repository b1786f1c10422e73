import { withJSONSchema } from "@sluice/core";
import { createChatStore } from "@sluice/stores";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { createTestClient, frame, streamResponse } from "../../core/test/support/gateway.js";
import { checkOnly, streamText } from "../../core/test/support/reply-streams.js";
import { createChat, createLiveChat } from "./support/chat.js";

const recipe = withJSONSchema(
  v.object({ title: v.string(), steps: v.pipe(v.array(v.string()), v.minLength(1)) }),
);

describe("a chat with a schema", () => {
  test("sends JSON mode, and returns the response as a checked value", async () => {
    const { chat, requests } = createChat([streamText('{"title":"Tea","steps":["boil"]}')], {
      outputSchema: recipe,
    });
    expect(await chat.send("A recipe as JSON")).toMatchObject({
      outcome: "complete",
      messages: [{}, { output: { title: "Tea", steps: ["boil"] } }],
    });
    expect(chat.getSnapshot().output).toEqual({ title: "Tea", steps: ["boil"] });
    expect(await requests[0]?.json()).toMatchObject({ response_format: { type: "json_object" } });
  });

  test("sends the JSON Schema to the model after the instructions, for each request", async () => {
    const { chat, sent } = createChat([streamText('{"title":"Tea","steps":["boil"]}')], {
      model: "delta-5.3",
      instructions: "Be brief.",
      outputSchema: recipe,
    } as object);
    await chat.send("A recipe for tea");
    const [{ role, content } = {}, ...others] = (await sent(0)) ?? [];
    expect(role).toBe("system");
    expect(content).toMatch(/^Be brief\.\n\nAnswer with JSON only/);
    expect(JSON.parse(String(content).slice(String(content).indexOf("{")))).toMatchObject({
      type: "object",
      properties: { title: { type: "string" }, steps: { type: "array", minItems: 1 } },
      required: ["title", "steps"],
    });
    expect(others).toEqual([{ role: "user", content: "A recipe for tea" }]);
    expect(chat.getSnapshot().messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("warns about a schema without a JSON Schema, and sends only the prompt", async () => {
    const warnings: unknown[] = [];
    const { client, requests } = createTestClient(() => streamResponse(streamText('{"at":"2026-01-01"}')), {
      onEvent: (event) => event.type === "warning" && warnings.push(event.issue),
    });
    const chat = createChatStore(client, {
      model: "alpha-v4.1-flash",
      outputSchema: withJSONSchema(v.object({ at: v.custom<string>((at) => typeof at === "string") })),
    });
    expect(await chat.send("When? Answer in JSON")).toMatchObject({ outcome: "complete" });
    expect(warnings).toMatchObject([{ path: "outputSchema", rule: "chat.output-schema" }]);
    expect(await requests[0]?.json()).toMatchObject({
      messages: [{ role: "user" }],
      response_format: { type: "json_object" },
    });
  });

  test("sends the JSON Schema of withJSONSchema, and checks responses with the schema", async () => {
    const warnings: unknown[] = [];
    const responses = ['{"title":"Tea"}', '{"title":7}'];
    const { client, requests } = createTestClient(
      (_, nth) => streamResponse(streamText(responses[nth - 1] ?? "")),
      {
        onEvent: (event) => event.type === "warning" && warnings.push(event.issue),
      },
    );
    const jsonSchema = { type: "object", properties: { title: { type: "string" } } };
    const schema = withJSONSchema(
      checkOnly((value) => typeof Object(value).title === "string"),
      jsonSchema,
    );
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", outputSchema: schema });
    expect(await chat.send("A recipe")).toMatchObject({ messages: [{}, { output: { title: "Tea" } }] });
    expect(await chat.send("Another")).toMatchObject({
      outcome: "error",
      error: { message: expect.stringContaining("does not fit") },
    });
    expect(warnings).toEqual([]);
    expect(await requests[0]?.json()).toMatchObject({
      messages: [{ role: "system", content: expect.stringContaining(JSON.stringify(jsonSchema)) }, {}],
    });
  });

  test("warns about a schema of a library without JSON Schema, and names the fix", async () => {
    const warnings: unknown[] = [];
    const { client } = createTestClient(() => streamResponse(streamText("{}")), {
      onEvent: (event) => event.type === "warning" && warnings.push(event.issue),
    });
    for (const outputSchema of [checkOnly(() => true), v.object({})])
      await createChatStore(client, { model: "alpha-v4.1-flash", outputSchema }).send("Answer in JSON");
    expect(warnings).toMatchObject([
      { path: "outputSchema", message: expect.stringContaining("withJSONSchema(schema, jsonSchema)") },
      { path: "outputSchema", message: expect.stringContaining("withJSONSchema(schema)") },
    ]);
  });

  test("fails with the error that its schema throws", async () => {
    const schema = v.custom(() => {
      throw new TypeError("the list of titles can't be read");
    });
    const { chat } = createChat([streamText('{"title":"Tea"}')], { outputSchema: schema });
    expect(await chat.send("A recipe as JSON")).toMatchObject({
      outcome: "error",
      error: { name: "TypeError", message: "the list of titles can't be read" },
    });
  });

  test("shows a partial value while it streams, and unchanged parts keep their identity", async () => {
    const { chat, clock, connections } = createLiveChat({ outputSchema: recipe });
    const [connection] = connections;
    void chat.send("A recipe as JSON");
    const seen: unknown[] = [];
    await connection?.wanted();
    for (const content of ['Here:\n{"title":"Te', 'a","steps":["boil"', ',"po']) {
      connection?.send(frame({ content }));
      await connection?.wanted();
      await clock.advance(50);
      seen.push(chat.getSnapshot().output);
    }
    expect(seen).toEqual([
      { title: "Te" },
      { title: "Tea", steps: ["boil"] },
      { title: "Tea", steps: ["boil", "po"] },
    ]);
    chat.stop();
  });

  test("finds the JSON in the text of models without a JSON mode", async () => {
    const { chat, requests } = createChat(
      [streamText('Sure:\n```json\n{"title":"Tea","steps":["boil"]}\n```\nEnjoy!')],
      {
        model: "delta-5.3",
        outputSchema: recipe,
      } as object,
    );
    expect(await chat.send("A recipe as JSON")).toMatchObject({ outcome: "complete" });
    expect(chat.getSnapshot().output).toEqual({ title: "Tea", steps: ["boil"] });
    expect(await requests[0]?.json()).not.toHaveProperty("response_format");
  });

  test("keeps the value of the text so far after stop", async () => {
    const { chat, connections } = createLiveChat({ outputSchema: recipe, throttleMs: 0 });
    const unsubscribe = chat.subscribe(() => {
      if (!chat.getSnapshot().output) return;
      unsubscribe();
      chat.stop();
    });
    const turn = chat.send("A recipe as JSON");
    await connections[0]?.wanted();
    connections[0]?.send(frame({ content: '{"title":"Te' }) + frame({ content: 'a","steps":["bo' }));
    await turn;
    expect(chat.getSnapshot().output).toEqual({ title: "Tea", steps: ["bo"] });
  });

  test.each([
    ["does not fit", '{"title":"Tea","steps":[]}', "steps"],
    ["is no JSON", "I'd rather not.", ""],
    ["stops in the middle of its JSON", '{"title":"Tea","st', ""],
  ])("reports a response that %s, and keeps its text", async (_, text, path) => {
    const { chat } = createChat([streamText(text)], { outputSchema: recipe });
    expect(await chat.send("A recipe as JSON")).toMatchObject({
      outcome: "error",
      error: { name: "ResponseError", path, body: text },
      messages: [{}, { content: text, outcome: "error" }],
    });
    expect(chat.getSnapshot().status).toBe("error");
  });

  test("keeps a partial value without an error if the response was truncated", async () => {
    const cut = frame({ content: '{"title":"Tea","st' }) + frame({}, "length");
    const { chat } = createChat([cut], { outputSchema: recipe });
    expect(await chat.send("A recipe as JSON")).toMatchObject({ outcome: "length" });
    expect(chat.getSnapshot()).toMatchObject({ status: "ready", output: { title: "Tea" } });
  });

  test("types the object by the schema, with every part optional", () => {
    const { client } = createTestClient(() => streamResponse(""));
    const chat = createChatStore(client, { model: "alpha-v4.1-flash", outputSchema: recipe });
    expectTypeOf(chat.getSnapshot().output).toEqualTypeOf<
      { readonly title?: string; readonly steps?: readonly string[] } | undefined
    >();
  });
});
