import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHATS, IMAGES, startAttacked, VIDEOS } from "./support/attacked.js";

const ASSETS = "/gamma/asset/CreateAsset";
const messages = [{ role: "user", content: "hi" }];
const imageURL = "https://cdn.example/a.png";
/** A request of each family, with all its objects. */
const requests = {
  alpha: [
    CHATS,
    {
      model: "alpha-v4.1-flash",
      messages: [
        { role: "user", content: [{ type: "image_url", image_url: { url: imageURL, detail: "low" } }] },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
      ],
      thinking: { type: "enabled" },
      response_format: { type: "text" },
      stream_options: { include_usage: true },
      stream: true,
      tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
      tool_choice: { type: "function", function: { name: "f" } },
    },
  ],
  delta: [CHATS, { model: "delta-5.3", messages, thinking: { type: "enabled" } }],
  gamma: [CHATS, { model: "gamma-chat-1-6-251015", messages }],
  image: [
    IMAGES,
    {
      model: "gamma-image-5-0-260128",
      prompt: "a",
      image: [imageURL],
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 2 },
      logo_info: { add_logo: true },
    },
  ],
  beta: [
    VIDEOS,
    {
      model: "beta3.0-video",
      input: { prompt: "a", media: [{ type: "first_frame", url: imageURL }] },
      parameters: { duration: 5 },
    },
  ],
  video: [
    VIDEOS,
    {
      model: "gamma-video-2.0",
      content: [
        { type: "text", text: "a" },
        { type: "image_url", image_url: { url: imageURL }, role: "first_frame" },
      ],
      duration: 5,
    },
  ],
  asset: [ASSETS, { model: "gamma-asset", GroupId: "mine", Name: "a", AssetType: "Image", URL: imageURL }],
} as const satisfies Record<string, readonly [string, object]>;
type Family = keyof typeof requests;

/** Fields of other vendors' gateways that could make a request cost more or reach more. */
const foreign = [
  "models",
  "fallbacks",
  "n",
  "best_of",
  "max_output_tokens",
  "max_completion_tokens",
  "maxTokens",
  "frames",
  "num_frames",
  "extra_body",
  "extra",
  "extra_headers",
  "api_base",
  "base_url",
  "api_key",
  "route",
  "provider",
  "plugins",
  "webhook",
  "callback_url",
  "image_urls",
  "Model",
  "MODEL",
  "modeL",
  "max_to\u212aens",
  "me\u017f\u017fages",
  "constructor",
  "toString",
  "model ",
  "",
];

describe("a field that the model's table does not list (case 52)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({
      options: {
        routes: ["chat", "images", "videos", "assets"],
        models: {
          "alpha-v4.1-flash": { max_tokens: 50 },
          "delta-5.3": { max_tokens: 50 },
          "gamma-chat-1-6-251015": { max_tokens: 50 },
          "gamma-image-5-0-260128": { "sequential_image_generation_options.max_images": 2 },
          "beta3.0-video": { "parameters.duration": 5 },
          "gamma-video-2.0": { duration: 5 },
          "gamma-asset": { GroupId: ["mine"] },
        },
      },
    });
  });
  afterAll(() => proxy.close());

  const families = Object.keys(requests) as Family[];
  const MARK = "smuggled-4711";

  test.each(families)("%s: all that the spec has reaches the gateway", async (family) => {
    const [path, body] = requests[family];
    proxy.upstream.requests.length = 0;
    expect((await proxy.call("ada", body, { path })).status).toBe(200);
    const [sent] = proxy.upstream.requests;
    expect(sent?.line).toBe(`POST ${path}`);
    expect(sent?.body).toMatchObject(body);
  });

  test.each(families)("%s: reaches the gateway at no level", async (family) => {
    const [path, body] = requests[family];
    for (const name of foreign) {
      proxy.upstream.requests.length = 0;
      const attempts = listObjects(body).map(async (at) => {
        const changed = structuredClone(body) as Tree;
        let target = changed;
        for (const step of at) target = target[step] as Tree;
        if (Object.hasOwn(target, name)) return;
        Object.defineProperty(target, name, { value: MARK, enumerable: true });
        const { status, error } = await proxy.call("ada", changed, { path });
        if (status === 200) return;
        const code = expect.stringMatching(/^(field_not_allowed|invalid_request|limit_exceeded)$/);
        const where = [...at, name].join(".");
        expect([where, status, error?.["code"]]).toEqual([where, 400, code]);
      });
      await Promise.all(attempts);
      for (const { text } of proxy.upstream.requests) expect(text.includes(MARK) && text).toBe(false);
    }
  });

  test.each([
    ["delta", { max_completion_tokens: 5000 }],
    ["delta", { extra_body: { max_tokens: 5000 } }],
    ["delta", { extra_body: { extra_body: { max_tokens: 5000 } } }],
    ["delta", { extra: { parameters: { max_tokens: 5000 } } }],
    ["beta", { duration: 30 }],
    ["beta", { extra: { parameters: { duration: 30 } } }],
    ["beta", { input: { prompt: "a", parameters: { duration: 30 } } }],
    ["beta", { parameters: { duration: 5, parameters: { duration: 30 } } }],
    ["beta", { input: { prompt: "a", media: [{ type: "first_frame", url: imageURL, duration: 30 }] } }],
    ["video", { parameters: { duration: 30 } }],
    ["video", { content: [{ type: "text", text: "a", duration: 30 }] }],
    ["video", { frames: 700 }],
    ["image", { max_images: 15 }],
    ["image", { n: 15 }],
    ["image", { sequential_image_generation_options: { max_images: 2, n: 15 } }],
  ] as const)("%s: %o can't bypass a cap", async (family, more) => {
    const [path, body] = requests[family];
    proxy.upstream.requests.length = 0;
    const { status } = await proxy.call("ada", { ...body, ...more }, { path });
    expect([status, proxy.upstream.requests.length]).toEqual([400, 0]);
  });

  test("is named in the refusal, with the option that lets it pass", async () => {
    const { status, error } = await proxy.call("ada", { ...requests.delta[1], fallbacks: ["gpt-dear"] });
    expect([status, error?.["code"]]).toEqual([400, "field_not_allowed"]);
    expect(error?.["message"]).toMatch(/fallbacks.*allowFields|allowFields.*fallbacks/);
  });

  test("A field that is null, or that each client of OpenAI sends, is never a reason to refuse", async () => {
    const [path, body] = requests.alpha;
    const harmless = {
      models: null,
      user: "someone",
      seed: 7,
      parallel_tool_calls: true,
      stream_options: { include_usage: true },
      store: false,
      metadata: { a: "b" },
      service_tier: "auto",
      logprobs: false,
    };
    expect((await proxy.call("ada", { ...body, ...harmless }, { path })).status).toBe(200);
  });
});

describe("media (case 65)", () => {
  let proxy: Awaited<ReturnType<typeof startAttacked>>;
  beforeAll(async () => {
    proxy = await startAttacked({
      options: {
        routes: ["chat", "images", "videos", "assets"],
        models: {
          "alpha-v4.1-flash": {},
          "gamma-image-5-0-260128": {},
          "beta3.0-video": {},
          "gamma-video-2.0": {},
          "gamma-asset": { GroupId: ["mine"] },
        },
      },
    });
  });
  afterAll(() => proxy.close());

  /** The same request with another address for its media. */
  const withURL = (family: Family, url: string) => {
    const [path, body] = requests[family];
    return [path, JSON.parse(JSON.stringify(body).replaceAll(imageURL, url))] as const;
  };
  const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").toString("base64");

  test.each([
    "2130706433/x",
    "localhost/x",
    "etc/passwd",
    "/etc/passwd",
    "127.0.0.1",
    "metadata",
    "metadata/computeMetadata/v1",
    "asset-1",
    "0x7f000001/latest",
    "http://cdn.example/a.png",
    "https://localhost/x",
    "https://10.0.0.1/x",
    "https://[::1]/x",
    "https://cdn.example:22/x",
    "file:///etc/passwd",
    "ftp://cdn.example/x",
    "gopher://cdn.example/x",
    "",
    " ",
    "data:text/html,<script>",
    "asset://asset-1",
  ])("%j is refused wherever an address may be", async (url) => {
    for (const family of ["alpha", "image", "beta", "video", "asset"] as const) {
      proxy.upstream.requests.length = 0;
      const [path, body] = withURL(family, url);
      const { status } = await proxy.call("ada", body, { path });
      expect([family, [400, 404].includes(status), proxy.upstream.requests.length]).toEqual([
        family,
        true,
        0,
      ]);
    }
  });

  test("The Base64 of a file may be sent as an asset", async () => {
    const [path, body] = withURL("asset", png);
    expect((await proxy.call("ada", body, { path })).status).toBe(200);
  });
});

test("another tenant's group of assets is refused unless it is listed (case 66)", async () => {
  const options = { routes: ["assets"], models: ["gamma-asset"] };
  const [path, body] = requests.asset;
  const proxy = await startAttacked({ options });
  const { status } = await proxy.call("ada", body, { path });
  expect([status, proxy.upstream.requests.length]).toEqual([403, 0]);
  await proxy.close();
  const open = await startAttacked({
    options: { ...options, models: { "gamma-asset": { GroupId: ["mine"] } } },
  });
  expect((await open.call("ada", body, { path })).status).toBe(200);
  expect((await open.call("ada", { ...body, GroupId: "theirs" }, { path })).status).toBe(403);
  expect(open.upstream.requests.length).toBe(1);
  await open.close();
});

interface Tree {
  [name: string]: unknown;
}

/** The ways to all objects in a tree. */
function listObjects(value: unknown, path: readonly string[] = []): (readonly string[])[] {
  // the JSON Schema of a tool has fields of its user's own
  if (typeof value !== "object" || value === null || path.slice(-2).join() === "function,parameters")
    return [];
  const below = Object.entries(value).flatMap(([name, entry]) => listObjects(entry, [...path, name]));
  return Array.isArray(value) ? below : [path, ...below];
}
