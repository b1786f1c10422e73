import { describe, expect, test } from "vitest";
import {
  complete,
  createFastEmulator,
  createRequest,
  listDeltas,
  readChunks,
  readMessage,
} from "./support.js";

const weather = createTool("get_weather", {
  type: "object",
  properties: { city: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
  required: ["city"],
});
const time = createTool("get-time", {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
});

function createTool(name: string, parameters: object) {
  return { type: "function", function: { name, parameters } };
}

async function readCalls(prompt: string, fields: object) {
  const { tool_calls } = await readMessage(createFastEmulator(), createRequest(prompt, fields));
  return (tool_calls ?? []).map(({ function: { name, arguments: text } }) => [name, JSON.parse(text)]);
}

describe("tools are called", () => {
  const tools = [weather, time];
  const forced = { type: "function", function: { name: "get-time" } };
  test.each([
    ["when the prompt says to use one by name", "Use get_weather, please", {}, ["get_weather"]],
    ["when the name is written as words", "call get weather for Oslo", {}, ["get_weather"]],
    ["when the prompt says to use the tool", "Please use the tool", {}, ["get_weather"]],
    ["together, when the prompt names both", "Use get_weather and get-time", {}, ["get_weather", "get-time"]],
    ["together, when the prompt says so", "use both tools", {}, ["get_weather", "get-time"]],
    ["when required", "Hello", { tool_choice: "required" }, ["get_weather"]],
    ["by name, when one is demanded", "Hello", { tool_choice: forced }, ["get-time"]],
    ["never with none", "Use get_weather", { tool_choice: "none" }, []],
    ["not because they are there", "What's the weather like?", { tool_choice: "auto" }, []],
    ["not because their name comes up", "What is get_weather?", {}, []],
    ["by delta-5.3, too", "Use get_weather", { model: "delta-5.3" }, ["get_weather"]],
  ])("%s", async (_, prompt, fields, names) => {
    const calls = await readCalls(prompt, { tools, ...fields });
    expect(calls.map(([name]) => name)).toEqual(names);
  });
});

test("a call comes with an id, without text, and with its own finish reason", async () => {
  const { choices } = await complete(
    createFastEmulator(),
    createRequest("Use get_weather", { tools: [weather] }),
  );
  expect(choices[0]?.finish_reason).toBe("tool_calls");
  expect(choices[0]?.message).toMatchObject({ content: null, tool_calls: [{ type: "function" }] });
  expect(choices[0]?.message.tool_calls?.[0]?.id).toMatch(/^call_/);
});

test("every call has a unique id, within one message and across messages", async () => {
  const emulator = createFastEmulator();
  const request = createRequest("Use get_weather and get-time", { tools: [weather, time] });
  const messages = [await readMessage(emulator, request), await readMessage(emulator, request)];
  const ids = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }) => id));
  expect(new Set(ids).size).toBe(4);
});

test("arguments have the values of the prompt", async () => {
  const prompt = "Use get_weather for the weather in New York, in fahrenheit";
  expect(await readCalls(prompt, { tools: [weather] })).toEqual([
    ["get_weather", { city: "New York", unit: "fahrenheit" }],
  ]);
  const add = createTool("add", { properties: { a: { type: "number" }, b: { type: "number" } } });
  expect(await readCalls("Use the tool to add 2.5 and 40.", { tools: [add] })).toEqual([
    ["add", { a: 2.5, b: 40 }],
  ]);
  const say = createTool("say", { properties: { words: { type: "string" } } });
  expect(await readCalls('Use say with "good morning"', { tools: [say] })).toEqual([
    ["say", { words: "good morning" }],
  ]);
});

test("arguments are streamed in fragments, call after call, id and name once", async () => {
  const request = createRequest("Use get_weather and get-time in Paris", { tools: [weather, time] });
  const chunks = await readChunks(createFastEmulator(), request);
  const parts = listDeltas(chunks).flatMap(({ tool_calls }) => tool_calls ?? []);
  for (const index of [0, 1]) {
    const [first, ...fragments] = parts.filter((part) => part.index === index);
    expect(first).toMatchObject({ type: "function", function: { arguments: "" } });
    expect(fragments.length).toBeGreaterThan(2);
    for (const fragment of fragments) expect(Object.keys(fragment)).toEqual(["index", "function"]);
    const text = fragments.map((fragment) => fragment.function.arguments).join("");
    expect(JSON.parse(text)).toMatchObject({ city: "Paris" });
  }
  expect(parts.map(({ index }) => index)).toEqual(parts.map(({ index }) => index).toSorted());
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
});

test("max_tokens cuts arguments in the middle", async () => {
  const fields = { tools: [weather], max_tokens: 6, thinking: { type: "disabled" } };
  const { choices, usage } = await complete(
    createFastEmulator(),
    createRequest("Use get_weather in Paris", fields),
  );
  expect(choices[0]?.finish_reason).toBe("length");
  expect(usage.completion_tokens).toBe(6);
  const text = choices[0]?.message.tool_calls?.[0]?.function.arguments ?? "";
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
});

test.each(["auto", "required"])("a tool's result gets a reply that quotes it (%s)", async (tool_choice) => {
  const call = {
    id: "call_1",
    type: "function",
    function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
  };
  const { content, tool_calls } = await readMessage(createFastEmulator(), {
    ...createRequest("", { tools: [weather], tool_choice }),
    messages: [
      { role: "user", content: "Use get_weather in Oslo" },
      { role: "assistant", content: null, reasoning_content: "I need it.", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: '{"degrees":-3,"sky":"clear"}' },
    ],
  });
  expect(tool_calls).toBeNull();
  expect(content).toContain("get_weather");
  expect(content).toContain('{"degrees":-3,"sky":"clear"}');
});

describe("arguments satisfy their schema:", () => {
  const string = expect.any(String);
  test.each<[string, object, unknown]>([
    ["const", { const: 7 }, 7],
    ["enum", { enum: ["red", "green"] }, "red"],
    ["default", { type: "string", default: "tea" }, "tea"],
    ["examples", { type: "string", examples: ["green tea"] }, "green tea"],
    ["a default that breaks its own rule", { type: "integer", minimum: 5, default: 1 }, 5],
    ["boolean", { type: "boolean" }, true],
    ["null", { type: "null" }, null],
    ["a list of types", { type: ["null", "integer"] }, null],
    ["minimum", { type: "integer", minimum: 10 }, 10],
    ["maximum", { type: "integer", maximum: -10 }, -10],
    ["exclusive bounds", { type: "integer", exclusiveMinimum: 3, exclusiveMaximum: 5 }, 4],
    ["narrow exclusive bounds", { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 0.05 }, 0.025],
    ["multipleOf", { type: "integer", minimum: 10, multipleOf: 7 }, 14],
    ["a fraction for multipleOf", { type: "number", minimum: 0.25, multipleOf: 0.1 }, 0.3],
    ["minLength", { type: "string", minLength: 40 }, expect.stringMatching(/^.{40}$/)],
    ["maxLength", { type: "string", maxLength: 3 }, expect.stringMatching(/^.{1,3}$/)],
    ["date", { type: "string", format: "date" }, expect.stringMatching(/^\d{4}-\d\d-\d\d$/)],
    [
      "date-time",
      { type: "string", format: "date-time" },
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/),
    ],
    ["email", { type: "string", format: "email" }, expect.stringMatching(/^\w+@[\w.]+$/)],
    ["uri", { type: "string", format: "uri" }, expect.stringMatching(/^https:\/\/\S+$/)],
    [
      "uuid",
      { type: "string", format: "uuid" },
      expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
    ],
    [
      "a pattern",
      { type: "string", pattern: "^[A-Z]{3}-\\d{2,4}(?:/(?:x|y))?$" },
      expect.stringMatching(/^[A-Z]{3}-\d{2,4}/),
    ],
    [
      "a pattern with a minimum length",
      { type: "string", pattern: "^[a-f0-9]+$", minLength: 32 },
      expect.stringMatching(/^[a-f0-9]{32,}$/),
    ],
    ["items", { type: "array", items: { type: "integer" }, minItems: 3, maxItems: 3 }, [1, 2, 3]],
    [
      "uniqueItems",
      { type: "array", items: { enum: ["a", "b", "c"] }, minItems: 3, uniqueItems: true },
      ["a", "b", "c"],
    ],
    [
      "a tuple",
      { type: "array", prefixItems: [{ type: "boolean" }, { const: "x" }], items: false },
      [true, "x"],
    ],
    ["maxItems 0", { type: "array", items: { type: "string" }, maxItems: 0 }, []],
    [
      "nested objects",
      { properties: { at: { properties: { lat: { type: "number" } }, required: ["lat"] } } },
      { at: { lat: 1 } },
    ],
    ["required without a schema", { type: "object", required: ["id"] }, { id: string }],
    [
      "minProperties",
      { type: "object", minProperties: 2, additionalProperties: { type: "integer" } },
      { key1: 1, key2: 1 },
    ],
    [
      "maxProperties",
      { type: "object", properties: { a: {}, b: {} }, required: ["b"], maxProperties: 1 },
      { b: string },
    ],
    ["anyOf", { anyOf: [{ type: "null" }, { type: "integer", minimum: 3 }] }, 3],
    [
      "oneOf, exactly one",
      { oneOf: [{ type: "integer" }, { type: "number", minimum: 0 }] },
      expect.toSatisfy((value: number) => value >= 0 !== Number.isInteger(value)),
    ],
    [
      "allOf",
      { allOf: [{ type: "number", minimum: 2 }, { type: "integer", minimum: 5 }, { maximum: 5.5 }] },
      5,
    ],
    ["not", { type: "boolean", not: { const: true } }, false],
    ["a local $ref", { $ref: "#/$defs/cups" }, 4],
    [
      "if and then",
      {
        properties: { kind: { const: "a" } },
        if: { properties: { kind: { const: "a" } } },
        // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema
        then: { required: ["size"] },
      },
      { kind: "a", size: string },
    ],
    ["no rule at all", {}, expect.anything()],
  ])("%s", async (_, schema, expected) => {
    const parameters = {
      type: "object",
      properties: { it: schema },
      required: ["it"],
      $defs: { cups: { const: 4 } },
    };
    const [call] = await readCalls("Use the tool", { tools: [createTool("brew", parameters)] });
    expect(call).toEqual(["brew", { it: expected }]);
  });

  test("a schema that refers to itself ends", async () => {
    const node = {
      properties: { name: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/node" } } },
    };
    const parameters = { ...node, $defs: { node }, required: ["name"] };
    const [call] = await readCalls("Use the tool", { tools: [createTool("plant", parameters)] });
    expect(call).toEqual([
      "plant",
      { name: expect.any(String), children: [expect.objectContaining({ name: expect.any(String) })] },
    ]);
  });

  test("no property is added where none is allowed", async () => {
    const parameters = { type: "object", properties: {}, additionalProperties: false };
    expect(await readCalls("Use the tool", { tools: [createTool("refresh", parameters)] })).toEqual([
      ["refresh", {}],
    ]);
  });

  test("a schema without a valid value still gets arguments soon", async () => {
    const parameters = {
      type: "object",
      properties: { it: { allOf: [{ const: 1 }, { const: 2 }] } },
      required: ["it"],
    };
    expect(await readCalls("Use the tool", { tools: [createTool("puzzle", parameters)] })).toHaveLength(1);
  });
});
