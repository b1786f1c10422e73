import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAI } from "@ai-sdk/openai";
import { DallEAPIWrapper } from "@langchain/openai";
import { createClient, generateImages } from "@sluice/core";
import { idempotency } from "@sluice/durable";
import { nodeHost } from "@sluice/durable/node";
import { createProxy, images } from "@sluice/worker-proxy";
import { toNodeHandler } from "@sluice/worker-proxy/node";
import { generateImage } from "ai";
import OpenAI from "openai";
import { afterEach, expect, test } from "vitest";
import { generateImage as generateImageByXsAI } from "xsai";

/*
 * One click, several billed images: the gateway makes each image that is requested, and a load balancer in front of it responds
 * 504 to the first three requests. The guide "Costs" has the numbers.
 */

const MODEL = "gamma-image-5-0-260128";
const PROMPT = "A reef at dawn";
const guide = readFileSync(new URL("../../docs/guides/costs.md", import.meta.url), "utf8");
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Listens on a free port. */
async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => void server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts the gateway behind its load balancer. `billed` counts the images that it has made. */
async function startGateway() {
  let billed = 0;
  const url = await listen(
    createServer(async (request, response) => {
      for await (const _ of request);
      billed += 1;
      if (billed <= 3)
        return void response.writeHead(504, { "content-type": "text/html" }).end("<h1>504</h1>");
      const data = [{ url: "https://files.example/reef.png", b64_json: "iVBORw0KGgo=" }];
      const usage = { generated_images: 1, total_tokens: 1 };
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ created: 1, data, usage }));
    }),
  );
  return { url, countBilled: () => billed };
}

/** A proxy with `idempotency()` before the gateway. */
async function startProxy(url: string): Promise<string> {
  const proxy = createProxy({
    baseURL: url,
    apiKey: () => "sk-0123456789",
    authenticate: () => ({ id: "user" }),
    secret: () => "a secret of the proxy's own, of more than 32 letters",
    origins: [],
    models: [MODEL],
    routes: [images],
    host: nodeHost({ file: ":memory:" }),
    plugins: [idempotency()],
  });
  const handle = toNodeHandler((request) => proxy.fetch(request));
  return listen(createServer((incoming, outgoing) => void handle(incoming, outgoing)));
}

const apiKey = "sk-0123456789";

/** One click in each client, with the defaults of that client. Resolves to true if the user gets an image. */
const clients: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  openai: (url) =>
    new OpenAI({ baseURL: `${url}/v1`, apiKey }).images.generate({ model: MODEL, prompt: PROMPT }),
  "AI SDK": (url) =>
    generateImage({ model: createOpenAI({ baseURL: `${url}/v1`, apiKey }).image(MODEL), prompt: PROMPT }),
  LangChain: (url) =>
    new DallEAPIWrapper({ model: MODEL, apiKey, baseUrl: `${url}/v1` } as never).invoke(PROMPT),
  xsAI: (url) => generateImageByXsAI({ baseURL: `${url}/v1/`, apiKey, model: MODEL, prompt: PROMPT }),
  Sluice: (url) => generateImages(createClient({ baseURL: url, apiKey }), { model: MODEL, prompt: PROMPT }),
  "Sluice behind `idempotency()`": async (url) =>
    generateImages(createClient({ baseURL: await startProxy(url) }), { model: MODEL, prompt: PROMPT }),
};

test.each(Object.entries(clients))("The guide says what one click costs with %s", async (name, click) => {
  const { url, countBilled } = await startGateway();
  const hasImage = await click(url).then(
    () => true,
    () => false,
  );
  const row = `| ${name} | ${countBilled()} | ${hasImage ? "yes" : "no"} |`;
  expect(guide.replace(/ +/g, " ")).toContain(row);
});
