import type { Served } from "@sluice/emulator/serve";
import type { Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { findChromium } from "../../scripts/chromium.ts";
import { findProblems } from "../support/axe.ts";
import { getSharedBrowser } from "../support/browser.ts";
import { buildSite, serveSite } from "../support/docs-site.ts";

/* The built site, served as files: its live examples run in a Service Worker, its search works offline. */

describe.skipIf(!findChromium())("the site in Chromium (skipped where there is none)", () => {
  let site: Served;
  let page: Page;
  const problems: string[] = [];

  beforeAll(async () => {
    await buildSite();
    site = await serveSite();
  }, 600_000);
  afterAll(() => site.close());
  beforeEach(async () => {
    problems.length = 0;
    page = await (await getSharedBrowser()).newPage();
    page.on("pageerror", ({ message }) => problems.push(message));
    await page.goto(`${site.url}/start/install.html`);
  });
  afterEach(async () => {
    await page.context().close();
    expect(problems).toEqual([]);
  });

  const example = (name: string) => page.getByRole("region", { name: `Live example: ${name}` });
  const output = (name: string) => example(name).getByRole("log");
  const press = (name: string, button: string) =>
    example(name).getByRole("button", { name: button, exact: true }).click();

  /** The requests of this page, from now on, that create a video task. */
  function creations(): readonly string[] {
    const created: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST" && request.url().includes("/video/")) created.push(request.url());
    });
    return created;
  }

  test("streams a response to its end", async () => {
    await press("stream", "Run");
    await expect.poll(() => output("stream").innerText()).toMatch(/\w+ \w+.*complete after \d+ ms$/s);
  });

  test("stops a response where the reader presses Stop", async () => {
    await page.addInitScript(holdResponses);
    await page.reload();
    await press("stream", "Run");
    await expect.poll(() => output("stream").innerText()).toMatch(/\w+ \w+/);
    await press("stream", "Stop");
    await expect.poll(() => output("stream").innerText()).toMatch(/Stopped\.$/);
  });

  test.for([
    ["[[429:2]]", /← 429\n {2}again in \d+ ms.*← 200.*outcome: complete$/s],
    ["[[cut]]", /→ \/v1\/chat\/completions\n← 200\n→ \/v1\/chat\/streams\/\S+\n← 200.*outcome: complete$/s],
    ["[[drop]]", /outcome: truncated\nStreamError: /],
    ["[[stall]]", /outcome: error\nTimeoutError: /],
  ] as const)("shows the outcome of %s", async ([fault, expected]) => {
    await example("breaks").getByRole("combobox", { name: "Fault" }).selectOption(fault);
    await press("breaks", "Run");
    await expect.poll(() => output("breaks").innerText(), { timeout: 60_000 }).toMatch(expected);
  });

  test("shows an image", async () => {
    await press("picture", "Run");
    const image = example("picture").getByRole("img");
    await image.waitFor();
    await expect.poll(() => image.evaluate((img) => (img as HTMLImageElement).naturalWidth)).toBe(2048);
  });

  test("continues a video task after a reload, and creates no second task", async () => {
    const created = creations();
    await press("video", "Run");
    await expect.poll(() => output("video").innerText()).toMatch(/pending: queued/);
    await page.reload();
    await example("video").locator("video").waitFor({ timeout: 60_000 });
    await expect.poll(() => output("video").innerText()).toMatch(/^found the task \S+ again\n.*success: /s);
    expect(created).toHaveLength(1);
  });

  test("creates no second video task after a reload before the response", async () => {
    await page.evaluate(holdRequests);
    await press("video", "Run");
    // the entry of the task is stored before its request
    await page.waitForFunction(() => "heldRequest" in globalThis);
    const created = creations();
    await page.reload();
    await expect.poll(() => output("video").innerText()).toMatch(/the task may exist and be billed/);
    expect(created).toEqual([]);
  });

  test("opens the studio below the site, which works beside the live examples and leads back to the docs", async () => {
    // the examples' Service Worker has the studio's page, too, until that has its own
    await press("stream", "Run");
    await expect.poll(() => output("stream").innerText()).toMatch(/complete after \d+ ms$/);
    await page.goto(`${site.url}/studio/`);
    const docs = page.getByRole("link", { name: "Docs", exact: true });
    expect(await docs.evaluate((link) => (link as HTMLAnchorElement).href)).toBe(`${site.url}/`);
    await page.getByRole("textbox", { name: "Message" }).fill("Hello");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Regenerate" }).waitFor({ timeout: 60_000 });
  });

  test("finds a page by its words, without the network", async () => {
    await page.getByRole("button", { name: "Search" }).first().click();
    await page.getByRole("searchbox").fill("maxSteps");
    await page.getByRole("option").filter({ hasText: "maxSteps" }).first().waitFor();
  });

  test.for([
    ["/", "light"],
    ["/", "dark"],
    ["/start/install.html", "light"],
    ["/start/install.html", "dark"],
    ["/reference/emulator.html", "light"],
    ["/reference/errors.html", "dark"],
    ["/guides/errors-and-retries.html", "dark"],
  ] as const)("axe finds no problem on %s in %s", async ([path, colorScheme]) => {
    await page.emulateMedia({ colorScheme });
    await page.goto(site.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expect.poll(() => findProblems(page)).toEqual([]);
  });
});

/** Runs in the page: no request gets a response from now on. `heldRequest` is set when there was one. */
function holdRequests(): void {
  globalThis.fetch = (...given) => {
    Object.assign(globalThis, { heldRequest: given });
    return new Promise<never>(() => {});
  };
}

/** Runs in the page: of each stream some pieces of text arrive, and the others never do. */
function holdResponses(): void {
  const { fetch: send } = globalThis;
  globalThis.fetch = async (...given) => {
    const response = await send(...given);
    if (!response.body) return response;
    const reader = response.body.getReader();
    let texts = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { value } = texts > 8 ? await new Promise<never>(() => {}) : await reader.read();
          if (/"content":"[^"]/.test(new TextDecoder().decode(value))) texts += 1;
          if (value) controller.enqueue(value);
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  };
}
