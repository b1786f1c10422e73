import { checkRequest, requestSchemas } from "@sluice/core/schemas";
import { createEmulator } from "@sluice/emulator";
import { adaptOpenAI, assets, chat, createProxy, images, videos } from "@sluice/worker-proxy";
import { describe, expect, test } from "vitest";
import { expectLog } from "../../packages/worker-proxy/test/support/expected-log.js";
import { listPaths, type Twin, type TwinTable, twins, twinTables, withTwin } from "./twins.ts";

/*
 * Each twin of each field of the spec's requests, in the client before sending, the emulator and the proxy in front of
 * it: the same verdict in all three, which `rules/twins.ts` decides.
 */

expectLog("is not a field of this model");

/** The three checkers. The proxy has its own emulator. */
function openCheckers(endpoint: string, model: string) {
  const options = { apiKeys: ["sk-gateway"], speed: Number.POSITIVE_INFINITY };
  const [emulator, gateway] = [createEmulator(options), createEmulator(options)];
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-gateway",
    authenticate: () => ({ id: "user-1" }),
    secret: () => "a-secret-of-the-proxy-for-its-tests-0123456789",
    origins: [],
    routes: [chat, images, videos, assets],
    models: { [model]: model === "gamma-asset" ? { GroupId: ["group-1"] } : {} },
    plugins: [adaptOpenAI()],
    fetch: gateway.fetch,
  });
  const post = (body: object) =>
    new Request(`https://proxy.example${endpoint}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-gateway" },
      body: JSON.stringify(body),
    });
  return {
    client: async (body: object) => checkRequest(body).issues.length === 0,
    emulator: async (body: object) => isAccepted(await emulator.fetch(post(body))),
    proxy: async (body: object) => isAccepted(await proxy.fetch(post(body))),
  };
}

async function isAccepted(response: Response): Promise<boolean> {
  await response.body?.cancel();
  // 403 for a model or a group that is none of the listed
  expect([200, 400, 403]).toContain(response.status);
  return response.ok;
}

const cases = twinTables.flatMap((table) => table.models.map((model) => [model, table] as const));
const toList = (names = "") => names.split(" ").filter(Boolean);

describe.each(["client", "emulator", "proxy"] as const)("The verdict of the %s on each twin", (checker) => {
  test.each(cases)("The verdict on a field of %s is the decided one (%#)", async (model, table) => {
    const accepts = openCheckers(table.endpoint, model)[checker];
    const request = { model, ...table.request };
    expect(await accepts(request)).toBe(true);
    const found: [path: string, accepted: string[]][] = [];
    for (const path of listPaths(request)) {
      const accepted: string[] = [];
      for (const twin of Object.keys(twins) as Twin[])
        if (await accepts(withTwin(request, path, twin))) accepted.push(twin);
      found.push([path, accepted]);
    }
    const decided = listPaths(request).map((path) => [path, listDecided(table, path, checker)]);
    expect(found).toEqual(decided);
  });
});

function listDecided({ accepted, proxy }: TwinTable, path: string, checker: string): string[] {
  const ofProxy = checker === "proxy" ? proxy?.[path]?.twins : undefined;
  return toList(ofProxy ?? accepted[path]);
}

/** The parts of a valibot schema that say which fields there are. */
interface Shape {
  readonly type: string;
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly wrapped?: Shape;
  readonly getter?: (input: unknown) => Shape;
}

/** Lists the fields that a schema allows in a request. */
function listFields(schema: Shape, request: object): string[] {
  const { entries = {} } = schema.getter?.(request) ?? schema;
  return Object.keys(entries).filter((name) => entries[name]?.wrapped?.type !== "never");
}

test("Each field of each model is in the table of twins", () => {
  const schemas = requestSchemas;
  expect(new Set(cases.map(([model]) => model))).toEqual(new Set(Object.keys(schemas)));
  for (const [model, schema] of Object.entries(schemas)) {
    const requests = cases.filter(([id]) => id === model).map(([, { request }]) => ({ model, ...request }));
    const fields = requests.flatMap((request) => listFields(schema as unknown as Shape, request));
    const tabled = requests.flatMap((request) => Object.keys(request));
    expect([model, fields.filter((name) => !tabled.includes(name))]).toEqual([model, []]);
    expect(fields.length).toBeGreaterThan(2);
  }
});
