// @vitest-environment node
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createEmulator } from "@sluice/emulator";
import { serve } from "@sluice/emulator/serve";
import type { Browser, Page } from "playwright";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { findChromium } from "../../../scripts/chromium.js";
import { findProblems } from "../../../tests/support/axe.ts";
import { getSharedBrowser } from "../../../tests/support/browser.ts";
import { createTemporaryFolder } from "../../../tests/support/temporary.ts";

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:";
const html = `<!doctype html><html lang="en"><title>Reef</title><link rel="icon" href="data:,">
<style>button { color: red; display: block }</style><body><script type="module" src="/page.js"></script></body></html>`;

describe.skipIf(!findChromium())("the developer tools in Chromium (skipped where there is none)", () => {
  const folder = createTemporaryFolder("devtools-in-page");
  const emulator = createEmulator({ speed: 100 });
  let browser: Browser;
  let served: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    vi.stubEnv("NODE_ENV", "development");
    await build({
      configFile: false,
      root: folder,
      mode: "development",
      logLevel: "silent",
      build: {
        outDir: ".",
        emptyOutDir: false,
        rolldownOptions: {
          input: join(import.meta.dirname, "devtools-page.tsx"),
          output: { entryFileNames: "page.js" },
        },
      },
    });
    vi.unstubAllEnvs();
    const fetch: typeof emulator.fetch = async (input) => {
      const request = new Request(input);
      const { pathname } = new URL(request.url);
      const headers = { "content-security-policy": policy, "content-type": "text/html; charset=utf-8" };
      if (pathname === "/") return new Response(html, { headers });
      if (!pathname.endsWith(".js")) return emulator.fetch(request);
      const code = readFileSync(join(folder, pathname), "utf8");
      return new Response(code, { headers: { "content-type": "text/javascript" } });
    };
    served = await serve({ ...emulator, fetch }, { port: 0 });
    browser = await getSharedBrowser();
  });
  afterAll(() => served?.close());

  async function open(path = "/", options: Parameters<Browser["newPage"]>[0] = {}) {
    const page = await browser.newPage(options);
    const problems: string[] = [];
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    await page.goto(served.url + path);
    await page.getByRole("button", { name: "Sluice Devtools" }).click();
    await page.getByRole("tab", { name: "Calls" }).waitFor();
    return { page, problems };
  }

  const show = (page: Page, name: string) => page.getByRole("tab", { name }).click();
  const view = (page: Page) => page.getByRole("tabpanel");

  test("A lost response is played on the running app, under a policy without inline styles", async () => {
    const { page, problems } = await open();
    const before = emulator.requests.length;
    await show(page, "Faults");
    await page.getByRole("button", { name: "Lost response" }).click();
    await page.getByRole("button", { name: "Ask" }).click();
    await view(page).getByText("2 requests left the page: 2 billed").waitFor();
    await view(page).getByText("the response", { exact: true }).waitFor();
    expect(emulator.requests.slice(before).filter(({ status }) => status === 200)).toHaveLength(2);
    // the policy blocks the style of the page, but nothing of the panel
    expect(problems.filter((text) => !text.includes("inline style"))).toEqual([]);
    expect(problems).toHaveLength(1);
    const height = await page
      .getByRole("region", { name: "Sluice Devtools" })
      .evaluate((it) => it.clientHeight);
    expect(height).toBeGreaterThan(200);
    await page.close();
  });

  test("“Second tab” opens the app in another tab with the same URL", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${served.url}/#reef`);
    await page.getByRole("button", { name: "Sluice Devtools" }).click();
    await show(page, "Faults");
    const opened = context.waitForEvent("page");
    await page.getByRole("button", { name: "Second tab" }).click();
    const second = await opened;
    await second.getByRole("button", { name: "Ask" }).waitFor();
    expect(second.url()).toBe(page.url());
    await view(page).getByText("Both tabs share chats and tasks").waitFor();
    await context.close();
  });

  test("Chats and tasks of the page are listed", async () => {
    const { page } = await open();
    await page.getByRole("button", { name: "Film" }).click();
    await page.getByRole("button", { name: "Ask" }).click();
    await page.getByText("ready, success").waitFor();
    await show(page, "Chats");
    await view(page)
      .getByText(/2 messages.*last response complete/)
      .waitFor();
    await show(page, "Tasks");
    await view(page).getByText("succeeded").waitFor();
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "axe finds nothing in the panel, %s and narrow",
    async (colorScheme) => {
      const { page } = await open("/", { colorScheme, viewport: { width: 380, height: 700 } });
      await page.getByRole("button", { name: "Ask" }).click();
      await view(page).getByText("complete").waitFor();
      await view(page).getByRole("button", { name: /delta/ }).click();
      for (const tab of ["Calls", "Faults", "Chats", "Tasks", "Usage"]) {
        await show(page, tab);
        expect.soft(await findProblems(page), tab).toEqual([]);
      }
      await page.close();
    },
  );

  test("A client without a tap still shows its calls", async () => {
    const { page } = await open("/?plain");
    await page.getByRole("button", { name: "Ask" }).click();
    await view(page).getByText("complete").waitFor();
    await show(page, "Faults");
    await view(page).getByText("devtoolsFetch()").waitFor();
    await page.close();
  });
});
