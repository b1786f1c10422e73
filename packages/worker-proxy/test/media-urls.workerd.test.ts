import { describe, expect, test } from "vitest";
import { expectLog } from "./support/expected-log.js";
import { createRequest, openProxy } from "./support/in-process.js";
import { SECRET } from "./support/sign.js";

expectLog("is not a field of this model", "503 media_unavailable");

type Options = Parameters<typeof openProxy>[0];
const models = {
  "delta-5.3": {},
  "alpha-v4.1-flash": {},
  "gamma-image-5-0-260128": {},
  "beta3.0-video": {},
  "gamma-video-2.0": {},
  "gamma-asset": { GroupId: ["g"] },
};

/** Returns true if a body passes, or else the reason of its refusal. */
async function passes(path: string, body: object, options: Options = {}) {
  const { call, reached } = openProxy({
    routes: ["chat", "images", "videos", "assets"],
    secret: () => SECRET,
    models,
    ...options,
  });
  const { status, error } = await call(createRequest({ path, body }));
  expect(reached).toHaveLength(status === 200 ? 1 : 0);
  return status === 200 || [status, error?.["code"], error?.["param"]];
}
const video = (media: unknown, options?: Options) =>
  passes("/v1/video/generations", { model: "beta3.0-video", input: { prompt: "a", media } }, options);
const frame = (url: unknown, options?: Options) => video([{ type: "first_frame", url }], options);
const refused = [400, "media_not_allowed", "input.media.url"];

describe("the gateway gets no forbidden address (case 30)", () => {
  test.each([
    ["an address of a private network", "https://10.0.0.1/a.png"],
    ["this machine", "https://127.0.0.1/a.png"],
    ["the metadata of a cloud", "https://169.254.169.254/latest/meta-data"],
    ["the metadata of a cloud by name", "https://metadata.google.internal/"],
    ["a public number", "https://93.184.216.34/a.png"],
    ["one number", "https://2130706433/a.png"],
    ["a hexadecimal number", "https://0x7f000001/a.png"],
    ["hexadecimal parts", "https://0x7f.0.0.0x1/a.png"],
    ["octal parts", "https://0177.0.0.01/a.png"],
    ["a short number", "https://127.1/a.png"],
    ["nothing", "https://0/a.png"],
    ["a number with a dot behind it", "https://127.0.0.1./a.png"],
    ["fullwidth digits", "https://\uff11\uff12\uff17.0.0.1/a.png"],
    ["circled digits", "https://\u2460\u2461\u2466.0.0.1/a.png"],
    ["other dots", "https://127\u30020\u30020\u30021/a.png"],
    ["encoded digits", "https://%31%32%37.0.0.1/a.png"],
    ["IPv6 of this machine", "https://[::1]/a.png"],
    ["IPv6 that is IPv4", "https://[::ffff:127.0.0.1]/a.png"],
    ["IPv6 that is IPv4 in hexadecimal", "https://[::ffff:7f00:1]/a.png"],
    ["IPv6 of a private network", "https://[fd00::1]/a.png"],
    ["IPv6 of nowhere", "https://[::]/a.png"],
    ["localhost", "https://localhost/a.png"],
    ["localhost in capitals", "https://LOCALHOST/a.png"],
    ["localhost with a dot behind it", "https://localhost./a.png"],
    ["a name under localhost", "https://a.localhost/a.png"],
    ["a name under localhost with a dot behind it", "https://a.localhost./a.png"],
    ["the domain of this machine", "https://localhost.localdomain/a.png"],
    ["a name in this house", "https://printer.local/a.png"],
    ["a name in this company", "https://wiki.corp/a.png"],
    ["a name in an intranet", "https://wiki.intranet/a.png"],
    ["a name in a private network", "https://wiki.private/a.png"],
    ["a name at home", "https://router.home.arpa/a.png"],
    ["a name without a dot", "https://redis/a.png"],
    ["a page without TLS", "http://cdn.example/a.png"],
    ["a file", "file:///etc/passwd"],
    ["a file of a host", "file://cdn.example/a.png"],
    ["another protocol", "ftp://cdn.example/a.png"],
    ["another protocol still", "gopher://cdn.example/_x"],
    ["a script", "javascript:alert(1)"],
    ["a blob", "blob:https://cdn.example/1"],
    ["a name and a password", "https://user:secret@cdn.example/a.png"],
    ["a name that looks like a host", "https://cdn.example@127.0.0.1/a.png"],
    ["no address", "https://"],
    ["a space before it", " http://cdn.example/a.png"],
    ["a line break within", "ht\ntp://cdn.example/a.png"],
    ["capitals", "HTTP://cdn.example/a.png"],
    ["backslashes", "https:\\\\127.0.0.1\\a.png"],
    ["one slash", "https:/127.0.0.1/a.png"],
    ["another host for who reads a backslash as a letter", "https://cdn.example\\@127.0.0.1/a.png"],
    ["another host for who reads a fragment later", "https://cdn.example#@127.0.0.1/a.png"],
    ["another host for who reads a query later", "https://cdn.example?@127.0.0.1/a.png"],
    ["an empty name", "https://@cdn.example/a.png"],
    ["a host with a tab in it", "https://cdn.exa\tmple/a.png"],
    ["a second request behind a line break", "https://cdn.example/a.png\r\nHost: 127.0.0.1"],
    ["a host with an encoded letter", "https://%63dn.example/a.png"],
    ["no host yet", "https:cdn.example/a.png"],
    ["a space before a public host", " https://cdn.example/a.png"],
    ["a host without a protocol", "//169.254.169.254/latest/meta-data"],
    ["a name without a protocol", "//localhost/a.png"],
    ["a number without a protocol", "169.254.169.254/latest/meta-data"],
    ["a path", "/etc/passwd"],
    ["a path back", "../../etc/passwd"],
    ["another port", "https://cdn.example:8443/a.png"],
    ["the port of a shell", "https://cdn.example:22/a.png"],
    ["the port of a page without TLS", "https://cdn.example:80/a.png"],
    ["a colon of another script", "http\uff1a//127.0.0.1/a.png"],
    ["a service of a cluster", "https://kubernetes.default.svc/api"],
    ["a service of a catalogue", "https://db.service.consul/"],
  ])("%s: %s", async (_, url) => {
    expect(await frame(url)).toEqual(refused);
  });

  test.each([
    "https://cdn.example",
    "https://cdn.example/a.png",
    "https://cdn.example/a b.png?at=me@cdn.example#\\",
    "https://CDN.Example:443/a.png?at=http://localhost",
    "https://\u00fcbung.example/a.png",
    "https://a.xn--p1ai/a.png",
    "https://10.0.0.1.cdn.example/a.png",
    "data:image/png;base64,AAAA",
    "DATA:image/JPEG;base64,AAAA",
    "/9j/4AAQSk+ZJRg_-ABA\nQ==",
    "_9j_4AAQSk-ZJRg",
    "\n iVBO\nRw0KGgo=",
    "R0lGODlhAQABAAAAACw=",
    "UklGRiQAAABXRUJQVlA4",
    "Qk02AAAAAAAAADYA",
  ])("an allowed address reaches it: %s", async (url) => {
    expect(await frame(url)).toBe(true);
  });

  const bad = "http://127.0.0.1/a.png";
  const file = "data:image/png;base64,AAAA";
  test.each([
    ["media in a video's input", "beta3.0-video", "input.media.url", { input: { media: [{ url: bad }] } }],
    [
      "the second of several",
      "beta3.0-video",
      "input.media.url",
      { input: { media: [{ url: file }, { url: bad }] } },
    ],
    ["an image", "gamma-video-2.0", "content.image_url.url", { content: [{ image_url: { url: bad } }] }],
    ["a video", "gamma-video-2.0", "content.video_url.url", { content: [{ video_url: { url: bad } }] }],
    ["a sound", "gamma-video-2.0", "content.audio_url.url", { content: [{ audio_url: { url: bad } }] }],
  ])("for %s", async (_, model, param, fields) => {
    const response = await passes("/v1/video/generations", { model, ...fields });
    expect(response).toEqual([400, "media_not_allowed", param]);
  });

  test.each([
    ["an image that is a text", "gamma-video-2.0", "content.image_url", { content: [{ image_url: bad }] }],
    ["another spelling", "gamma-video-2.0", "content.Image_URL", { content: [{ Image_URL: { url: bad } }] }],
    [
      "another spelling of one field",
      "beta3.0-video",
      "input.media.Url",
      { input: { media: [{ Url: bad }] } },
    ],
    ["a list of addresses", "beta3.0-video", "input.media.url", { input: { media: [{ url: [bad] }] } }],
    ["an address to call back", "beta3.0-video", "callback_url", { callback_url: bad }],
    ["several images", "beta3.0-video", "images", { images: [bad] }],
    ["a long s", "beta3.0-video", "input.media.u\u017fl", { input: { media: [{ "u\u017fl": "a" }] } }],
  ])("for %s, in any field", async (_, model, param, fields) => {
    const [status, code, named] = [await passes("/v1/video/generations", { model, ...fields })].flat();
    expect([status, named]).toEqual([400, param]);
    expect(code).toMatch(/^(field_not_allowed|invalid_request)$/);
  });

  test.each([
    ["a name", "localhost/x"],
    ["a number", "2130706433/x"],
    ["a path", "etc/passwd"],
    ["a path that is long enough to be a file", `${"etc/passwd/".repeat(9)}abcde`],
    ["an id of an asset", "asset-2026_abcd"],
    ["a path that begins like a JPEG", "/9j"],
    ["a name that begins like a BMP", "Qkserver/share/x"],
    ["nothing", ""],
    ["spaces", "    "],
    ["a page", "data:text/html;base64,AAAA"],
    ["an image of a kind that is not listed", "data:image/x-icon;base64,AAAA"],
    ["a picture that names addresses", "data:image/svg+xml;base64,AAAA"],
    ["data without Base64", "data:image/png,AAAA"],
    ["data of no type", "data:;base64,AAAA"],
    ["a type behind another", "data:text/html;image/png;base64,AAAA"],
  ])("for anything but Base64 of an image: %s (case 65)", async (_, url) => {
    expect(await frame(url)).toEqual(refused);
  });

  test("A part of a chat, an image's sources and an asset do not send the gateway there", async () => {
    const content = [
      { type: "text", text: "what is this?" },
      { type: "image_url", image_url: { url: bad } },
    ];
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect(await passes("/v1/chat/completions", chat)).toEqual([
      400,
      "media_not_allowed",
      "messages.content.image_url.url",
    ]);
    const sources = {
      model: "gamma-image-5-0-260128",
      prompt: "a",
      image: ["https://cdn.example/a.png", bad],
    };
    expect(await passes("/v1/images/generations", sources)).toEqual([400, "media_not_allowed", "image"]);
    const asset = { model: "gamma-asset", GroupId: "g", Name: "n", AssetType: "Image", URL: bad };
    expect(await passes("/gamma/asset/CreateAsset", asset)).toEqual([400, "media_not_allowed", "URL"]);
  });
});

describe("data that is too large (case 30)", () => {
  const limits = { maxDataURIBytes: 3000 };
  const data = (bytes: number) => `data:image/png;base64,${"A".repeat((bytes / 3) * 4)}`;

  test("is refused, wherever it is and however it calls itself", async () => {
    expect(await frame(data(2970), { limits })).toBe(true);
    for (const url of [data(3003), data(3003).replace("data:image/png", "DATA:IMAGE/JPEG")])
      expect(await frame(url, { limits })).toEqual(refused);
  });

  test("is refused as plain Base64 too, which an asset may be", async () => {
    const asset = (URL: string) =>
      passes("/gamma/asset/CreateAsset", { model: "gamma-asset", URL }, { limits });
    expect(await asset("/9j/".padEnd(4000, "A"))).toBe(true);
    expect(await asset("/9j/".padEnd(4004, "A"))).toEqual([400, "media_not_allowed", "URL"]);
  });
});

test("texts may name any address", async () => {
  const text = "curl http://localhost:8080/ says file:///etc/passwd, why?";
  const chats = [text, [{ type: "text", text }]].map((content) => ({
    model: "delta-5.3",
    messages: [{ role: "user", content }],
    tools: [{ type: "function", function: { name: "open", description: text, parameters: {} } }],
  }));
  for (const chat of chats) expect(await passes("/v1/chat/completions", chat)).toBe(true);
  const order = { model: "beta3.0-video", input: { prompt: text } };
  expect(await passes("/v1/video/generations", order)).toBe(true);
  const content = [{ type: "text", text }];
  expect(await passes("/v1/video/generations", { model: "gamma-video-2.0", content })).toBe(true);
});

test("a proxy without `routes` takes texts, and no image", async () => {
  const { call, reached } = openProxy({ models });
  const chat = (...content: object[]) => ({
    model: "alpha-v4.1-flash",
    messages: [{ role: "user", content: [{ type: "text", text: "what is this?" }, ...content] }],
  });
  for (const url of ["https://cdn.example/a.png", "data:image/png;base64,AAAA", "asset://a-1"]) {
    const { status, error } = await call(
      createRequest({ body: chat({ type: "image_url", image_url: { url } }) }),
    );
    const message = expect.stringContaining("lists `chat` in `routes`");
    const param = "messages.content.image_url.url";
    expect([status, error]).toEqual([
      400,
      expect.objectContaining({ code: "media_not_allowed", param, message }),
    ]);
  }
  expect(reached).toEqual([]);
  expect((await call(createRequest({ body: chat() }))).status).toBe(200);
});

test("media URLs may have any address with `any`", async () => {
  for (const url of ["http://10.0.0.1/a.png", "file:///a", "data:,a"])
    expect(await frame(url, { mediaURLs: "any" })).toBe(true);
});

test("a function decides instead, of the address as it is read", async () => {
  const checked: string[] = [];
  const media = (url: URL) => {
    checked.push(url.href);
    return url.hostname === "cdn.example";
  };
  expect(await frame("http://CDN.example/a.png", { mediaURLs: media })).toBe(true);
  expect(await frame("https://other.example/a.png", { mediaURLs: media })).toEqual(refused);
  expect(await frame("no address: at all", { mediaURLs: media })).toEqual(refused);
  expect(checked).toEqual(["http://cdn.example/a.png", "https://other.example/a.png"]);
});

test("a function that throws lets nothing through", async () => {
  const media = () => {
    throw new Error("no list");
  };
  expect(await frame("https://cdn.example/a.png", { mediaURLs: media })).toEqual([
    503,
    "media_unavailable",
    undefined,
  ]);
});

test("an async `mediaURLs` function allows no address", async () => {
  const media = (async () => true) as never;
  expect(await frame("https://cdn.example/a.png", { mediaURLs: media })).toEqual(refused);
});

test("a function is not called for an address that has two readings", async () => {
  const media = () => true;
  for (const url of ["https://cdn.example\\@127.0.0.1/", "http://cdn.example#@127.0.0.1/", "http:127.0.0.1"])
    expect(await frame(url, { mediaURLs: media })).toEqual(refused);
  expect(await frame("http://[::1]:8080/a.png", { mediaURLs: media })).toBe(true);
});

test("more addresses than any request has are refused (case 48)", async () => {
  const draw = (count: number) => {
    const image = Array(count).fill("https://cdn.example/a.png");
    return passes("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "a", image });
  };
  expect([await draw(1000), await draw(1001)]).toEqual([true, [400, "invalid_request", undefined]]);
});

test("any other value of `mediaURLs` is refused by createProxy", () => {
  expect(() => openProxy({ mediaURLs: "private" as never })).toThrow(/^mediaURLs: /);
});
