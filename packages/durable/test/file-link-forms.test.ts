import { describe, expect, test } from "vitest";
import { countRuns, openRandom, SEED } from "../../worker-proxy/test/support/random.js";
import { openFileStore, png } from "./support/file-store.js";

/* Another user's link in a request, in all forms that lead to the same file. */

/** Opens a proxy that has a file of alice and one of mallory. */
async function openLinks() {
  const files = openFileStore({ proxy: { mediaURLs: "any" } });
  const alices = (await files.store(png, { user: "alice" })).url;
  const mallorys = (await files.store(png, { user: "mallory" })).url;

  /** Sends a request as mallory. Returns its status, its code, and how many requests reached the gateway for it. */
  async function send(path: string, body: object) {
    const before = files.sent.length;
    const response = await files.post(path, body, "mallory");
    const { error } = (await response.json()) as { error?: { code: string } };
    return [response.status, error?.code, files.sent.length - before];
  }
  const sendVideo = (url: string) =>
    send("/v1/video/generations", {
      model: "beta3.0-video",
      input: { media: [{ type: "first_frame", url }] },
    });
  return { alices, mallorys, send, sendVideo };
}

const REFUSED = [400, "media_not_allowed", 0];
const SENT = [200, undefined, 1];

/** Percent-encodes the letters of a text for which `isEscaped` is true: `%6d`. */
const writeInPercent = (text: string, isEscaped: (letter: string) => boolean = () => true) =>
  text.replace(/\w/g, (letter) =>
    isEscaped(letter) ? `%${letter.charCodeAt(0).toString(16).padStart(2, "0")}` : letter,
  );

/** Forms of the address of a file that lead to it all the same. */
const FORMS: Readonly<Record<string, (link: string) => string>> = {
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
  "with a host in capitals": (link) => link.replace(/^https:\/\/[^/]+/, (start) => start.toUpperCase()),
  "with a name and a password": (link) => link.replace("://", "://a:b@"),
  "with another host and its port": (link) => link.replace(/^https:\/\/[^/]+/, "https://files.example:443"),
  "without slashes": (link) => link.replace("://", ":"),
  "without a scheme": (link) => link.replace(/^https:/, ""),
  "without a scheme and slashes": (link) => link.replace(/^https:\/\//, ""),
  "in percent": (link) =>
    link.slice(0, link.lastIndexOf("/") + 1) + writeInPercent(link.slice(link.lastIndexOf("/") + 1)),
  "with a path in percent": (link) => link.replace("/v1/media/", writeInPercent("/v1/media/")),
};

describe("another user's link (case 120)", () => {
  test("is refused in each of its forms", async () => {
    const { alices, sendVideo } = await openLinks();
    for (const [name, form] of Object.entries(FORMS))
      expect([name, ...(await sendVideo(form(alices)))]).toEqual([name, ...REFUSED]);
  });

  test("is refused in a list, in one text, and in a part of a chat", async () => {
    const { alices, mallorys, send } = await openLinks();
    const draw = (image: unknown) =>
      send("/v1/images/generations", { model: "gamma-image-5-0-260128", prompt: "a", image });
    expect(await draw([mallorys, `${alices}#x`])).toEqual(REFUSED);
    expect(await draw(`${alices}#`)).toEqual(REFUSED);
    const content = [{ type: "image_url", image_url: { url: `${alices}#x` } }];
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect(await send("/v1/chat/completions", chat)).toEqual(REFUSED);
  });

  test("is refused in any mixture of these forms", async () => {
    const { alices, sendVideo } = await openLinks();
    const random = openRandom(SEED);
    const forms = Object.values(FORMS);
    const elsewhere: string[] = [];
    for (let run = 0; run < countRuns(150); run += 1) {
      const [host, path] = alices.split("/v1");
      let address = `${host}/v1${random.rarely(0.5) ? path : writeInPercent(`${path}`, () => random.rarely(0.2))}`;
      for (let count = random.below(4); count >= 0; count -= 1) address = random.one(forms)(address);
      // two forms combined can make an address that is not alice's file
      if (leadsTo(address, alices))
        expect(await sendVideo(address), `run ${run}: ${JSON.stringify(address.slice(0, 300))}`).toEqual(
          REFUSED,
        );
      else elsewhere.push(address.slice(0, 100));
    }
    expect(elsewhere.length, `${alices} ${elsewhere.join("\n")}`).toBeLessThan(countRuns(150) / 2);
  });
});

test("a text that names another user's link elsewhere than as a file is sent (case 120)", async () => {
  const { alices, send } = await openLinks();
  for (const content of [alices, `what is at ${alices}`, `${alices}#x`]) {
    const chat = { model: "alpha-v4.1-flash", messages: [{ role: "user", content }] };
    expect(await send("/v1/chat/completions", chat)).toEqual(SENT);
    const video = { model: "beta3.0-video", input: { prompt: content } };
    expect(await send("/v1/video/generations", video)).toEqual(SENT);
  }
});

test("an own link is sent in any form, and so is an address that names a link behind it (case 120)", async () => {
  const { alices, mallorys, sendVideo } = await openLinks();
  for (const [name, form] of Object.entries(FORMS))
    expect([name, ...(await sendVideo(form(mallorys)))]).toEqual([name, ...SENT]);
  const { pathname } = new URL(alices);
  for (const url of [`https://cdn.example/a.png#${pathname}`, `https://cdn.example/a.png?from=${pathname}`])
    expect(await sendVideo(url)).toEqual(SENT);
});

/** Returns true if a URL parser finds the path of a link in an address. */
function leadsTo(address: string, link: string): boolean {
  const read = URL.parse(address.trim(), "https://files.example");
  const path = (read?.pathname ?? "").replace(/%[0-7][0-9a-f]/gi, decodeURIComponent).trim();
  return path === new URL(link).pathname;
}
