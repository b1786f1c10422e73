import { readFileSync } from "node:fs";
import { type ChatRequest, createClient, generateImages, streamChat } from "@sluice/core";
import { createEpsilonTask, getEpsilonTask } from "@sluice/core/epsilon";
import * as core from "@sluice/core/schemas";
import { createEmulator } from "@sluice/emulator";
import {
  assets,
  chat,
  createProxy,
  epsilon as epsilonRoutes,
  images,
  type ProxyOptions,
  readStreams,
  videos as videosRoutes,
} from "@sluice/worker-proxy";
import { afterEach, describe, expect, test, vi } from "vitest";
import { listFamilies, writeIds, writeModels } from "../../packages/worker-proxy/scripts/spec-models.ts";

type Fields = Record<string, unknown>;

const routes = {
  chat: "/v1/chat/completions",
  images: "/v1/images/generations",
  videos: "/v1/video/generations",
  assets: "/gamma/asset/CreateAsset",
} as const;
type Route = keyof typeof routes;

const chats = Object.values(core.models).filter((model) => model.kind === "chat");

/** The client's own schema of each model, and the path of the model. */
const models: readonly (readonly [model: string, route: Route, schema: object])[] = [
  ...Object.values(core.models).map(
    ({ id, kind }) => [id, kind === "chat" ? kind : (`${kind}s` as const), core.requestSchemas[id]] as const,
  ),
];

/** The parts of a valibot schema that say which fields there are. */
interface Shape {
  readonly type: string;
  readonly entries?: Readonly<Record<string, Shape>>;
  readonly item?: Shape;
  readonly wrapped?: Shape;
  readonly assumed?: Shape;
  readonly options?: readonly unknown[];
  readonly getter?: (input: unknown) => Shape;
}

/** The paths of all fields that can have a value: `content`, `content[].image_url.url`. */
function listPaths(shape: Shape, path = ""): string[] {
  const { type, entries, item, wrapped, assumed, options, getter } = shape;
  if (type === "never") return [];
  if (assumed) return listPaths(assumed, path);
  if (wrapped) return listPaths(wrapped, path);
  if (type === "variant" || (getter && options))
    return (options as Shape[]).flatMap((option) => listPaths(option, path));
  if (getter) {
    const inputs = ["", [], {}, { content: [{ type: "image_url" }] }];
    return inputs.flatMap((input) => listPaths(getter(input), path));
  }
  if (item) return listPaths(item, `${path}[]`);
  if (entries)
    return Object.entries(entries).flatMap(([name, field]) =>
      listPaths(field, path ? `${path}.${name}` : name),
    );
  return [path];
}

const listed = new Map(models.map(([model, , schema]) => [model, new Set(listPaths(schema as Shape))]));

/** A body that has one field. */
function bodyWith(path: string): Fields {
  const address = /(?:url|URL|image\[\])$/.test(path) ? "https://cdn.example/a.png" : "x";
  const value = path === "max_tokens" ? 1 : address;
  const parts = path.split(".").reverse();
  const inner = parts.reduce<unknown>((within, part) => {
    const [name = ""] = part.split("[");
    return { [name]: part.endsWith("[]") ? [within] : within };
  }, value);
  return inner as Fields;
}

function openProxy(options: Partial<ProxyOptions> = {}) {
  const sent: Fields[] = [];
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-gateway",
    authenticate: "public",
    origins: [],
    routes: [chat, images, videosRoutes, assets],
    models: Object.fromEntries(
      models.map(([model]) => [model, model === "gamma-asset" ? { GroupId: ["x"] } : {}]),
    ),
    fetch: async (request) => {
      sent.push((await request.json()) as Fields);
      return Response.json({ id: "1" });
    },
    ...options,
  });
  const request = async (route: Route, body: Fields) => {
    const response = await proxy.fetch(
      new Request(`https://proxy.example${routes[route]}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      }),
    );
    const { error } = (await response.json()) as { error?: Fields };
    return { status: response.status, error, dropped: response.headers.get("x-sluice-dropped-fields") };
  };
  return { sent, request };
}

afterEach(() => vi.restoreAllMocks());

describe("the proxy's table of fields agrees with the client's schemas", () => {
  test("the table in the repository is what `pnpm --filter @sluice/worker-proxy run spec-models` writes", () => {
    const read = (file: string) =>
      readFileSync(new URL(`../../packages/worker-proxy/src/${file}`, import.meta.url), "utf8");
    expect(read("routes/spec-models.ts")).toBe(writeModels());
    expect(read("api/spec-model-ids.ts")).toBe(writeIds());
    const ids = [...writeIds().matchAll(/"(.+?)"/g)].map(([, id]) => id);
    expect(ids).toEqual(Object.keys(core.models));
  });

  test("the family of a model is its id up to its version", () => {
    expect(listFamilies(["alpha-v4.1-flash", "gamma-chat-1-6-251015", "zeta-1"])).toEqual([
      "alpha",
      "gamma-chat",
      "zeta",
    ]);
    expect(
      listFamilies(["beta3.0-video", "beta3.0-video-prime", "gamma-video-2.0", "gamma-video-fast"]),
    ).toEqual(["beta3.0-video", "gamma-video"]);
  });

  test.each(models)("%s has each field that its schema has", async (model, route) => {
    const paths = [...(listed.get(model) ?? [])].filter((path) => path !== "model" && path !== "user_id");
    expect(paths.length).toBeGreaterThan(3);
    for (const path of paths) {
      const { request, sent } = openProxy();
      const { error, dropped } = await request(route, { model, ...bodyWith(path) });
      expect([error, dropped]).toEqual([undefined, null]);
      expect(sent).toMatchObject([bodyWith(path)]);
    }
  });

  test.each(models)("%s has no field of other models only", async (model, route) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const own = listed.get(model);
    const all = new Set(models.flatMap(([id, of]) => (of === route ? [...(listed.get(id) ?? [])] : [])));
    for (const path of [...all, "input.parameters", "duration[]", "n[]", "x"].filter(
      (path) => !own?.has(path),
    )) {
      const { request, sent } = openProxy();
      const { status } = await request(route, { model, ...bodyWith(path) });
      // accept a single value instead of a list, and a list instead of a single value
      const isAlike = [...(own ?? [])].some(
        (other) => other.replaceAll("[]", "") === path.replaceAll("[]", ""),
      );
      if (!isAlike)
        expect([path, status]).toEqual([path, path === "user_id" && route === "chat" ? 200 : 400]);
      if (path === "user_id" && route === "chat") expect(sent).toEqual([{ model }]);
    }
    expect(log).toHaveBeenCalled();
    for (const [line] of log.mock.calls) expect(line).toContain("is not a field of this model; leave it out");
  });

  test.each(models)("%s is accepted at its own route only", async (model, route) => {
    for (const other of Object.keys(routes) as Route[]) {
      const { status, error } = await openProxy().request(other, { model });
      expect([other, status, error?.["code"]]).toEqual(
        other === route ? [other, 200, undefined] : [other, 403, "model_not_allowed"],
      );
    }
  });

  test.each(chats)("$id has its limit of tokens, and usage on request", async (row) => {
    const { id: model } = row;
    const { request, sent } = openProxy({
      limits: { maxTokens: 1_000_000_000 },
      plugins: [
        { ...readStreams(), reserve: async () => ({ settle: async () => {}, release: async () => {} }) },
      ],
    });
    await request("chat", { model, stream: true });
    expect(sent[0]?.["max_tokens"]).toBe(row.maxTokens);
    expect(sent[0]).toEqual({
      model,
      stream: true,
      max_tokens: row.maxTokens,
      ...("usageOnRequest" in row && { stream_options: { include_usage: true } }),
    });
  });
});

/** The client, the proxy and the emulator in one process. */
function openAll(options: Partial<ProxyOptions> = {}) {
  const emulator = createEmulator({ apiKeys: ["sk-gateway"], speed: Number.POSITIVE_INFINITY });
  const proxy = createProxy({
    baseURL: "https://gateway.example",
    apiKey: () => "sk-gateway",
    authenticate: () => ({ id: "user-1" }),
    secret: () => "a-secret-of-the-proxy-for-its-tests-0123456789",
    origins: [],
    routes: [chat, images, videosRoutes, epsilonRoutes],
    models: [...models.map(([model]) => model), "epsilon"],
    fetch: (request) => emulator.fetch(request),
    ...options,
  });
  const client = createClient({
    baseURL: "https://proxy.example",
    fetch: (request) => proxy.fetch(request),
  });
  return { client, emulator };
}

test("the client's own requests reach the gateway whole", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const { client, emulator } = openAll();
  const requests: ChatRequest[] = chats.map(({ id }) => ({
    model: id as "delta-5.3",
    messages: [{ role: "user", content: "hi" }],
  }));
  for (const request of requests)
    expect((await streamChat(client, request).result()).outcome).toBe("complete");
  await generateImages(client, { model: "gamma-image-5-0-260128", prompt: "a", seed: 1, image: [] });
  expect(emulator.requests.map(({ status, unknownFields }) => [status, unknownFields])).toEqual(
    Array(chats.length + 1).fill([200, []]),
  );
  expect(emulator.requests[0]?.body).toMatchObject({ stream_options: { include_usage: true } });
  await expect
    .poll(() => warn.mock.calls)
    .toEqual([[expect.stringContaining("image: is empty; leave it out")]]);
});

test("an epsilon task is created and polled through the proxy, under an id of the proxy", async () => {
  const { client, emulator } = openAll();
  const created = (await createEpsilonTask(client, "text2video", { prompt: "A reef" })) as {
    data: { task_id: string };
  };
  const { task_id } = created.data;
  expect(task_id).toMatch(/^epsilon-.+_[\w-]{22}$/);
  expect(await getEpsilonTask(client, task_id)).toMatchObject({ data: { task_id } });
  expect(emulator.requests.at(-1)?.path).toBe(`/epsilon/v1/videos/${task_id.slice(0, -23)}`);
});
