import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openRandom, runsOf, SEED } from "../../worker-proxy/test/support/random.js";
import { fileOf, shareWorkerd, startMediaProxy, starts } from "./support/media.js";

shareWorkerd(1);

/* Another user's link in a request, in all forms that lead to the same file. */

const png = fileOf(starts.png, 1000);
let proxy: Awaited<ReturnType<typeof startMediaProxy>>;
let alices: string;
let mallorys: string;

beforeAll(async () => {
  proxy = await startMediaProxy();
  alices = await linkOf("alice");
  mallorys = await linkOf("mallory");
});
afterAll(() => proxy.close());
beforeEach(() =>
  proxy.upstream.answers((response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"id":"t-1","status":"queued"}');
  }),
);

const linkOf = async (user: string) =>
  ((await (await proxy.upload(png, { user })).json()) as { url: string }).url;

/** Sends a request as mallory. Returns its status, and how many requests reached the gateway for it. */
async function sent(path: string, body: object) {
  const before = proxy.upstream.requests.length;
  const headers = { "content-type": "application/json" };
  const answer = await proxy.ask(path, {
    user: "mallory",
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return [answer.status, error?.code, proxy.upstream.requests.length - before];
}

const inVideo = (url: string) =>
  sent("/v1/video/generations", {
    model: "beta3.0-video",
    input: { media: [{ type: "first_frame", url }] },
  });
const refused = [400, "media_not_allowed", 0];
const passed = [200, undefined, 1];

/** Writes each letter as `%6d`, or a share of them. */
const escaped = (text: string, isWritten: (letter: string) => boolean = () => true) =>
  text.replace(/\w/g, (letter) =>
    isWritten(letter) ? `%${letter.charCodeAt(0).toString(16).padStart(2, "0")}` : letter,
  );

/** Ways to write the address of a file that lead to it all the same. */
const forms: Readonly<Record<string, (link: string) => string>> = {
  "with a fragment": (link) => `${link}#x`,
  "with an empty fragment": (link) => `${link}#`,
  "with a fragment that ends like another file": (link) => `${link}#/v1/media/x`,
  "with a query": (link) => `${link}?`,
  "behind a dot": (link) => link.replace("/v1/media/", "/v1/media/./"),
  "behind a way back": (link) => link.replace("/v1/media/", "/v1/x/../media/"),
  "behind a dot in percent": (link) => link.replace("/v1/media/", "/v1/media/%2e/"),
  "behind a way back in percent": (link) => link.replace("/v1/media/", "/v1/x/.%2E/media/"),
  "with a space behind it": (link) => `${link} `,
  "with a space and a line before it": (link) => `\n ${link}`,
  "with a line and a tab in it": (link) => link.replace("media", "me\n\tdia"),
  "with a space in percent behind it": (link) => `${link}%20`,
  "behind 2,000 letters": (link) => link.replace("/v1/media/", `/${"a".repeat(2000)}/../v1/media/`),
  "behind 200,000 letters": (link) => link.replace("/v1/media/", `/${"a".repeat(200_000)}/../v1/media/`),
  "with backslashes": (link) => link.replaceAll("/", "\\"),
  "with one backslash": (link) => link.replace("/v1/media/", "/v1\\media/"),
  "with a host in capitals": (link) => link.replace(/^http:\/\/[^/]+/, (start) => start.toUpperCase()),
  "with a name and a password": (link) => link.replace("://", "://a:b@"),
  "with the usual port": () => alices.replace(/^http:\/\/[^/]+/, "https://files.example:443"),
  "without slashes": (link) => link.replace("://", ":"),
  "without a scheme": (link) => link.replace(/^http:/, ""),
  "without a scheme and slashes": (link) => link.replace(/^http:\/\//, ""),
  "in percent": (link) =>
    link.slice(0, link.lastIndexOf("/") + 1) + escaped(link.slice(link.lastIndexOf("/") + 1)),
  "with a path in percent": (link) => link.replace("/v1/media/", escaped("/v1/media/")),
};

describe("case 120: another user's link", () => {
  test.each(Object.entries(forms))("%s is refused", async (_, form) => {
    expect(await inVideo(form(alices))).toEqual(refused);
  });

  test("is refused in a list, in one text, and in a part of a chat", async () => {
    const draw = (image: unknown) =>
      sent("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "a", image });
    expect(await draw([mallorys, `${alices}#x`])).toEqual(refused);
    expect(await draw(`${alices}#`)).toEqual(refused);
    const content = [{ type: "image_url", image_url: { url: `${alices}#x` } }];
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect(await sent("/v1/chat/completions", chat)).toEqual(refused);
  });

  test("is refused in any mixture of these forms", async () => {
    const random = openRandom(SEED);
    const all = Object.values(forms);
    const elsewhere: string[] = [];
    for (let run = 0; run < runsOf(150); run += 1) {
      const [host, path] = alices.split("/v1");
      let address = `${host}/v1${random.rarely(0.5) ? path : escaped(`${path}`, () => random.rarely(0.2))}`;
      for (let count = random.below(4); count >= 0; count -= 1) address = random.one(all)(address);
      // two forms may make something of it that leads elsewhere
      if (!leadsTo(address, alices)) {
        elsewhere.push(address.slice(0, 100));
        continue;
      }
      expect(await inVideo(address), `run ${run}: ${JSON.stringify(address.slice(0, 300))}`).toEqual(refused);
    }
    expect(elsewhere.length, `${alices} ${elsewhere.join("\n")}`).toBeLessThan(runsOf(150) / 2);
  });
});

test("case 120: a text that ends in another user's link, or names it elsewhere than as a file, is sent", async () => {
  const texts = [alices, `what is at ${alices}`, `${alices}#x`];
  for (const content of texts) {
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect(await sent("/v1/chat/completions", chat)).toEqual(passed);
    const video = { model: "beta3.0-video", input: { prompt: content } };
    expect(await sent("/v1/video/generations", video)).toEqual(passed);
  }
});

test("case 120: an own link is sent in any form, and so is an address that only names a link behind it", async () => {
  for (const [name, form] of Object.entries(forms))
    if (name !== "with the usual port") expect(await inVideo(form(mallorys)), name).toEqual(passed);
  const { pathname } = new URL(alices);
  for (const url of [`https://cdn.example/a.png#${pathname}`, `https://cdn.example/a.png?from=${pathname}`])
    expect(await inVideo(url)).toEqual(passed);
});

/** Returns true where an ordinary reader of addresses reads this one as the other. */
function leadsTo(address: string, other: string): boolean {
  const read = URL.parse(address.trim(), "http://files.example");
  const path = (read?.pathname ?? "").replace(/%[0-7][0-9a-f]/gi, decodeURIComponent).trim();
  return path === new URL(other).pathname;
}
