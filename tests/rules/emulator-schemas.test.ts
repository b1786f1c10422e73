import { createEmulator } from "@sluice/emulator";
import Ajv from "ajv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnySchema, createAnySchema } from "../support/any-schema.ts";
import { readRuns } from "../support/seed.ts";

/* The emulator fills the JSON Schema that a request shows, wherever clients write it: Ajv finds that the response fits. */

const model = "alpha-v4.1-flash";
const ajv = new Ajv({ multipleOfPrecision: 6, jsonPointers: true });

interface Completion {
  readonly choices: readonly [
    {
      readonly message: {
        readonly content: string;
        readonly tool_calls: readonly { readonly function: { readonly arguments: string } }[] | null;
      };
    },
  ];
}

/** Returns the JSON of a response: its text, or the arguments of its tool call. */
async function requestReply(request: object): Promise<unknown> {
  const { fetch } = createEmulator({ speed: Number.POSITIVE_INFINITY });
  const response = await fetch("https://gateway.test/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Tell me of rivers" }], ...request }),
  });
  expect(response.status).toBe(200);
  const { message } = ((await response.json()) as Completion).choices[0];
  return JSON.parse(message.tool_calls?.[0]?.function.arguments ?? message.content);
}

function expectToFit(schema: AnySchema, value: unknown): void {
  const fits = ajv.validate(schema, value);
  if (!fits) throw new Error(`${ajv.errorsText()}\n${JSON.stringify(value)}\n${JSON.stringify(schema)}`);
}

const json = { response_format: { type: "json_object" } };
const user = (content: string) => ({ role: "user", content });
const system = (content: string) => ({ role: "system", content });
const question = user("Tell me of rivers");

/** How clients show a schema. */
const encodings: Readonly<Record<string, (schema: object) => object>> = {
  "as the parameters of a tool": (parameters) => ({
    tools: [{ type: "function", function: { name: "fill", parameters } }],
    tool_choice: { type: "function", function: { name: "fill" } },
  }),
  "beside json_object": (schema) => ({ response_format: { type: "json_object", schema } }),
  "beside json_object with a name": (schema) => ({
    response_format: { type: "json_object", json_schema: { name: "answer", schema } },
  }),
  "in the instructions": (schema) => ({
    ...json,
    messages: [system(`JSON schema:\n${JSON.stringify(schema)}\nAnswer with JSON that fits it.`), question],
  }),
  "in the question, in a fence": (schema) => ({
    messages: [
      user(
        `Rivers.\n\nOutput should be in JSON format and conform to the following schema:\n\n\`\`\`\n${JSON.stringify(schema, null, 2)}\n\`\`\``,
      ),
    ],
  }),
  "behind an example of a schema": (schema) => ({
    messages: [
      system(
        `The schema {"properties": {"foo": {"type": "array"}}} is fit by {"foo": ["bar"]}. Yours:\n${JSON.stringify(schema)}`,
      ),
      question,
    ],
  }),
  "with a name, in another model": (schema) => ({
    model: "delta-5.3",
    messages: [system(`Schema of the answer: ${JSON.stringify({ name: "answer", schema })}`), question],
  }),
};

describe("The emulator", () => {
  const river = {
    type: "object",
    properties: { name: { type: "string" }, km: { type: "integer", exclusiveMinimum: 0, maximum: 7000 } },
    required: ["name", "km"],
    additionalProperties: false,
  };
  test.each(Object.entries(encodings))("fills a schema that is shown %s", async (_, encode) => {
    const { name, km } = (await requestReply(encode(river))) as { name: string; km: number };
    expect([typeof name, Number.isInteger(km)]).toEqual(["string", true]);
    expectToFit(river, { name, km });
  });

  test("fills the schema of the latest question, and not of an earlier one", async () => {
    const earlier = user(`Schema: ${JSON.stringify({ type: "object", required: ["old"] })}`);
    const latest = user(`Schema: ${JSON.stringify(river)}`);
    const messages = [earlier, { role: "assistant", content: "{}" }, latest];
    expectToFit(river, await requestReply({ messages }));
  });

  test("takes JSON in a question for no schema where nothing calls it one", async () => {
    const content = 'What is wrong with {"type":"object","properties":{}} in my file?';
    await expect(requestReply({ messages: [user(content)] })).rejects.toThrow(SyntaxError);
  });

  test("finds the end of a text with 100,000 braces", async () => {
    const content = `${"{".repeat(100_000)} schema ${JSON.stringify(river)}`;
    expect(await requestReply({ ...json, messages: [user(content)] })).toBeTypeOf("object");
  });
});

describe("A number of the emulator is small and plausible", () => {
  const far = Number.MAX_SAFE_INTEGER;
  test.each([
    [{ type: "integer", minimum: -far, maximum: 7 }, 1],
    [{ type: "integer", minimum: -far, maximum: far }, 1],
    [{ type: "integer", minimum: 3, maximum: far }, 3],
    [{ type: "integer", minimum: -far, maximum: -4 }, -4],
    [{ type: "number", exclusiveMinimum: -far, maximum: 0.5 }, 0],
    [{ type: "integer", minimum: -far, multipleOf: 25 }, 25],
  ])("%j: %d", async (number, expected) => {
    const schema = { type: "object", properties: { number }, required: ["number"] };
    expect(await requestReply({ response_format: { type: "json_object", schema } })).toEqual({
      number: expected,
    });
  });
});

test("The emulator fills any schema of a tool, and any beside json_object, so that Ajv takes it", {
  timeout: 300_000, // thousands of runs at night
}, async () => {
  const encoding = fc.constantFrom(...Object.keys(encodings));
  await fc.assert(
    fc.asyncProperty(createAnySchema(true), encoding, async (schema, name) => {
      const shown = { type: "object", ...(schema as object) };
      expectToFit(shown, await requestReply(encodings[name]?.(shown) ?? {}));
    }),
    { ...readRuns(100), endOnFailure: true },
  );
});
