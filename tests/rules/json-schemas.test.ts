import { InMemoryTransport, Client as McpClient } from "@modelcontextprotocol/client";
import { ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { createClient } from "@sluice/core";
import { checkRequest, requestSchemas, toJSONSchema } from "@sluice/core/schemas";
import { createMcpServer } from "@sluice/mcp";
import { Ajv2020, type AnySchema } from "ajv-8/dist/2020.js";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readRuns } from "../support/seed.ts";
import { allRules } from "./all.ts";

/*
 * The JSON Schema of each model says what the client's rules say: Ajv and the rules judge random requests alike. The
 * requests are made of those in tests/rules, which are transcribed from the spec, and not of the schemas themselves.
 */

const models = Object.keys(requestSchemas).map((model) => ({ model }));

/** Rules that JSON Schema cannot express. `*` is the family of a model. */
const unreported = [
  "*.*.n",
  "asset.n",
  "chat.*.content",
  "chat.*.image-url",
  "image.*.image",
  "video.beta.prompt-required",
  "video.beta.frames-exclude-references",
  "video.beta.last-frame-needs-first",
  "video.beta.input.media.url",
  "video.*.content.image-url.url",
  "video.*.camera-fixed",
  "video.1-0-pro-fast.ratio",
  "video.*.audio-needs-image",
  "video.*.tools-need-text-only",
  "asset.url",
];
const isUnreported = (rule: string, message: string) =>
  !/^(expected|is required( \(|;|$))/.test(message) &&
  unreported.some((name) =>
    new RegExp(`^${name.replaceAll(".", "\\.").replaceAll("*", "[^.]+")}$`).test(rule),
  );

const ajv = new Ajv2020({ strict: true });
const validators = new Map(models.map(({ model }) => [model, ajv.compile(toJSONSchema(model) ?? false)]));

type JSONValue = null | boolean | number | string | JSONValue[] | { [key: string]: JSONValue };
const asJSON = (request: object) => JSON.parse(JSON.stringify(request)) as { [key: string]: JSONValue };

function verdicts(request: { [key: string]: JSONValue }) {
  const model = String(request["model"]);
  const { issues } = checkRequest(request);
  const fits = validators.get(model)?.(request) ?? false;
  return { fits, issues, reported: issues.filter(({ rule, message }) => !isUnreported(rule, message)) };
}

test("The copy of a schema may be changed field by field: no part of it is another part, or the next copy's", () => {
  for (const { model } of models) {
    const parts = new Set<unknown>();
    const twice = (part: unknown): boolean => {
      if (typeof part !== "object" || part === null) return false;
      const isKnown = parts.has(part);
      parts.add(part);
      return Object.values(part).some(twice) || isKnown;
    };
    expect(twice(toJSONSchema(model)), model).toBe(false);
    expect(twice(toJSONSchema(model)), model).toBe(false);
    expect(JSON.stringify(toJSONSchema(model)), model).not.toContain("$ref");
  }
});

describe.each(models)("The JSON Schema of $model", ({ model }) => {
  const schema = toJSONSchema(model);

  test("is an object of version 2020-12 with a description, and no union at the top", () => {
    expect(schema).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: { model: { const: model } },
      required: expect.arrayContaining(["model"]),
    });
    expect(schema?.description).toContain(model === "gamma-asset" ? "asset" : model);
    expect(Object.keys(schema ?? {}).filter((key) => /Of$|^(not|if|\$ref)$/.test(key))).toEqual([]);
  });

  test("describes each of its fields", () => {
    const without = Object.entries(schema?.properties ?? {}).filter(([, field]) => !field["description"]);
    expect(without.map(([name]) => name)).toEqual([]);
  });

  test("passes the check of tools by the official MCP client", () => {
    const tools = [{ name: "make", inputSchema: schema }];
    expect(ListToolsResultSchema.parse({ tools }).tools[0]?.inputSchema).toEqual(schema);
  });

  test("accepts what the spec accepts, and refuses what it refuses", () => {
    const own = allRules.filter(({ accepted }) => asJSON(accepted)["model"] === model);
    expect(own.length).toBeGreaterThan(4);
    for (const { accepted, refused, warned, section, field, message } of own) {
      const name = `${section} · ${field}: ${message}`;
      for (const request of [accepted, ...(warned ? [warned] : [])])
        expect.soft(verdicts(asJSON(request)).fits, name).toBe(true);
      if (!refused || !asJSON(refused)["model"]) continue;
      const { fits, reported } = verdicts(asJSON(refused));
      if (reported.length > 0) expect.soft(fits, name).toBe(false);
    }
  });
});

const pool = new Map(
  models.map(({ model }) => [
    model,
    allRules
      .flatMap(({ accepted, refused = accepted, warned = accepted }) => [accepted, accepted, refused, warned])
      // a field of OpenAI's clients that the client refuses by itself
      .flatMap((request, index) => (index % 9 ? request : [request, { ...request, n: 2 }]))
      .map(asJSON)
      .filter((request) => request["model"] === model),
  ]),
);

/** Values near a value, of its kind and of others. */
function near(value: JSONValue): fc.Arbitrary<JSONValue> {
  const others = fc.constantFrom<JSONValue>(null, true, "", "x", 0, -1, 1, [], {}, ["x"], [{}]);
  if (typeof value === "number")
    return fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(-1, -0.5, 0, 0.5, 1, 1000).map((step) => value + step) },
      { weight: 1, arbitrary: others },
    );
  if (typeof value === "string")
    return fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("", `${value}a`, value.slice(1), value.toUpperCase()) },
      { weight: 1, arbitrary: others },
    );
  if (Array.isArray(value))
    return fc.oneof(
      {
        weight: 6,
        arbitrary: fc.constantFrom<JSONValue>([...value, ...value], value.slice(1), [...value, "x"]),
      },
      { weight: 1, arbitrary: others },
    );
  return others;
}

/** The paths of all values inside a value. */
function listPaths(value: JSONValue, path: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== "object" || value === null) return [path];
  const inside = Object.entries(value).slice(0, 8);
  return [path, ...inside.flatMap(([key, one]) => listPaths(one, [...path, key]))];
}

const valueAt = (value: JSONValue, path: readonly string[]): JSONValue =>
  path.reduce<JSONValue>((inside, key) => (inside as Record<string, JSONValue>)[key] ?? null, value);

/** Replaces a value; undefined removes it. */
function replaced(value: JSONValue, [key, ...rest]: readonly string[], by: JSONValue | undefined): JSONValue {
  if (key === undefined) return by ?? null;
  const copy = structuredClone(value) as Record<string, JSONValue>;
  if (by === undefined && rest.length === 0) delete copy[key];
  else copy[key] = replaced(copy[key] ?? null, rest, by);
  return copy as JSONValue;
}

const requests = fc.constantFrom(...models).chain(({ model }) => {
  const own = pool.get(model) ?? [];
  return fc
    .tuple(fc.constantFrom(...own), fc.constantFrom(...own), fc.constantFrom(...own))
    .map(([one, two, three]) => ({ ...one, ...two, ...three, model }) as JSONValue)
    .chain((request) => {
      const path = fc.constantFrom(...listPaths(request).filter(([first]) => first && first !== "model"));
      const changed = path.chain((at) =>
        fc
          .oneof(
            { weight: 1, arbitrary: fc.constant(undefined) },
            { weight: 6, arbitrary: near(valueAt(request, at)) },
          )
          .map((by) => replaced(request, at, by)),
      );
      return fc.oneof({ weight: 1, arbitrary: fc.constant(request) }, { weight: 3, arbitrary: changed });
    })
    .map((request) => asJSON(request as object));
});

test("Ajv and the client's rules judge random requests alike", () => {
  const count = { accepted: 0, refused: 0, unreported: 0 };
  fc.assert(
    fc.property(requests, (request) => {
      const { fits, issues, reported } = verdicts(request);
      if (issues.length === 0) expect(fits).toBe(true);
      if (reported.length > 0) expect({ fits, reported }).toEqual({ fits: false, reported });
      count[issues.length === 0 ? "accepted" : reported.length > 0 ? "refused" : "unreported"] += 1;
    }),
    readRuns(400),
  );
  // the requests are near the bounds: many are on either side
  expect(Math.min(count.accepted, count.refused)).toBeGreaterThan(0.15 * readRuns(400).numRuns);
});

let verdictsOfPool: readonly ReturnType<typeof verdicts>[] | undefined;

test.each(unreported)(
  "the rule %s is listed because JSON Schema accepts a request that breaks it",
  (name) => {
    verdictsOfPool ??= [...pool.values()].flat().map(verdicts);
    const breaking = verdictsOfPool.filter(({ fits, issues }) => {
      const pattern = new RegExp(`^${name.replaceAll(".", "\\.").replaceAll("*", "[^.]+")}$`);
      return fits && issues.length > 0 && issues.every(({ rule }) => pattern.test(rule));
    });
    expect(breaking.length).toBeGreaterThan(0);
  },
);

test("toJSONSchema returns undefined for a model that is not listed, and a copy for each caller", () => {
  expect(toJSONSchema("alpha-v5")).toBeUndefined();
  expect(toJSONSchema("toString")).toBeUndefined();
  const mine = toJSONSchema("delta-5.3");
  delete mine.properties["model"];
  expect(toJSONSchema("delta-5.3").properties["model"]).toBeDefined();
});

test("The short schemas of the MCP tools accept each request of a model that the spec accepts", async () => {
  const mcp = new McpClient({ name: "test", version: "1.0.0" });
  const [clientTransport, serverTransport] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(createClient({ baseURL: "https://gateway.test" }));
  await Promise.all([server.connect(clientTransport), mcp.connect(serverTransport)]);
  const { tools } = await mcp.listTools();
  await mcp.close();
  for (const { model } of models) {
    const end = `_${model.replace(/[^\w-]/g, "_")}`;
    const tool = tools.find(({ name }) => name.endsWith(model === "gamma-asset" ? "asset_create" : end));
    const validate = ajv.compile(tool?.inputSchema as AnySchema);
    const own = allRules.filter(({ accepted }) => asJSON(accepted)["model"] === model);
    for (const { accepted, section, field, message } of own) {
      const { model: _, stream: _s, stream_options: _o, ...input } = asJSON(accepted);
      // a `null` field may be omitted, and the short schemas omit it
      if (JSON.stringify(input).includes("null")) continue;
      expect.soft(validate(input), `${section} · ${field}: ${message}`).toBe(true);
    }
  }
});
