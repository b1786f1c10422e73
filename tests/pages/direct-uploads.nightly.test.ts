import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { fileOf, startMediaProxy, starts } from "../../packages/durable/test/support/media.js";
import { startS3 } from "../../packages/durable/test/support/s3-server.js";
import { findChromium } from "../../scripts/chromium.ts";
import { sharedBrowser } from "../support/browser.ts";

/* A page in Chromium that uploads to a proxy and straight to its bucket: three origins, and the rules between them. */

const PART = 8_388_608;
const html = `<!doctype html><title>Page</title><script type="module">
  import * as sluice from "/browser.js";
  globalThis.sluice = sluice;
</script>`;
declare const sluice: typeof import("@sluice/core/browser");
const SIZE = 2 * PART + 1000;

beforeEach(({ skip }) => skip(!findChromium(), "there is no Chromium"));

/** Serves a page with the client, of a built file. */
async function servePage() {
  const client = readFileSync(join(import.meta.dirname, "../../packages/core/dist/browser.js"));
  const server = createServer(({ url }, answer) => {
    if (url === "/browser.js") answer.writeHead(200, { "content-type": "text/javascript" }).end(client);
    else answer.writeHead(200, { "content-type": "text/html" }).end(html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Uploads a film in a page. Returns the requests by method and host, and whether the stored film is the one that was sent. */
async function uploadIn(allowed: (page: string) => string | undefined) {
  const origin = await servePage();
  const cors = allowed(origin);
  const s3 = await startS3(cors === undefined ? {} : { origin: cors });
  onTestFinished(() => s3.close());
  const bucket = { ...s3.options, pageEndpoint: s3.options.endpoint };
  const proxy = await startMediaProxy({ s3: bucket, pageOrigin: origin });
  onTestFinished(() => proxy.close());
  const context = await (await sharedBrowser()).newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const log: string[] = [];
  page.on("request", (request) => {
    const { host } = new URL(request.url());
    const places: Record<string, string> = {
      [proxy.url.host]: "proxy",
      [new URL(s3.options.endpoint).host]: "bucket",
    };
    const place = places[host];
    if (place) log.push(`${request.method()} ${place}`);
  });
  await page.goto(origin);
  await page.waitForFunction(() => "sluice" in globalThis);
  const { url, warnings } = await page.evaluate(
    async ({ baseURL, start, size }) => {
      const { createClient, uploadMedia } = sluice;
      const warnings: string[] = [];
      const client = createClient({
        baseURL,
        headers: { authorization: "user-1" },
        onEvent: (event) => event.type === "warning" && warnings.push(event.issue.rule),
      });
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at += 1) bytes[at] = at * 31 + (at >> 8);
      bytes.set(start);
      const { url } = await uploadMedia(client, new File([bytes], "film.mp4"));
      return { url, warnings };
    },
    { baseURL: proxy.url.origin, start: starts.mp4, size: SIZE },
  );
  const stored = Buffer.from(await (await fetch(url)).arrayBuffer());
  const events = proxy.events().map(({ outcome, code = "" }) => `${outcome} ${code}`.trim());
  return { log, warnings, events, isWhole: stored.equals(fileOf(starts.mp4, SIZE)) };
}

test("A page puts the parts of a film straight into a bucket that allows its origin", async () => {
  const { log, warnings, events, isWhole } = await uploadIn((page) => page);
  expect([isWhole, warnings, events]).toEqual([true, [], ["complete"]]);
  expect(log.filter((line) => line.startsWith("PUT"))).toEqual(["PUT bucket", "PUT bucket"]);
  expect(log.filter((line) => line.endsWith("proxy"))).toEqual([
    "POST proxy",
    ...Array(4).fill("PATCH proxy"),
  ]);
});

describe("case 262: a bucket that does not take the part of a page", () => {
  test.each([
    ["another origin", () => "https://other.example"],
    ["no page", () => undefined],
  ])("gets it through the proxy where it allows %s, and page and operator are told", async (_, allowed) => {
    const { log, warnings, events, isWhole } = await uploadIn(allowed);
    expect(isWhole).toBe(true);
    // a page can't tell a missing rule from a network: both get no answer
    expect([warnings, events]).toEqual([["uploads.direct"], ["waiting direct_unreachable", "complete"]]);
    expect(log.filter((line) => line.endsWith("proxy"))).toEqual([
      "POST proxy",
      ...Array(3).fill("PATCH proxy"),
    ]);
  });
});
