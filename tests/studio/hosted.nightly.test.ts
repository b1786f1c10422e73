import type { Browser, BrowserContext, Locator, Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { demoPrompts } from "../../examples/studio/demo/prompts.ts";
import { createVideo } from "../../packages/media/test/support/media.ts";
import { findProblems } from "../support/axe.ts";
import { getSharedBrowser } from "../support/browser.ts";
import {
  endServiceWorkers,
  getSharedFirefox,
  hasFirefox,
  reloadPastServiceWorkers,
} from "../support/firefox.ts";
import { MAX_SCRIPT_BYTES, measureCompressedSize, measureFirstScreen } from "../support/first-screen.ts";
import { type HostedStudio, startHostedStudio } from "../support/hosted-studio.ts";
import { hasChromium } from "../support/studio-suite.ts";

declare global {
  var couldWriteAtStart: boolean | undefined;
  var videoRequest: string | undefined;
}

/**
 * The machine may be busy, a video of the emulator takes twelve seconds, and a request whose Service Worker was killed may
 * get no response before the client gives it up, which takes a minute.
 */
const WAIT = { timeout: 150_000 };
const SUITE = { timeout: 300_000 };
/** Questions that have a response in the demo. */
const question = {
  abilities: "Show me what you can do",
  databases: "Compare SQL and NoSQL",
  formula: "Explain the quadratic formula",
  steps: "Say 'small steps' in Chinese, Arabic and Hindi",
  weekend: "Plan a quiet weekend in a town by a river",
};
/** Number of thumbnails of the examples, which the Service Worker loads last. */
const THUMBNAILS = demoPrompts.filter(({ room }) => room !== "chat").length;

/** A browser that runs the studio, and its actions that no page can take. */
interface Deployment {
  readonly name: string;
  readonly isHere: boolean;
  readonly open: () => Promise<Browser>;
  /** Ends the Service Worker, as the browser does without a warning. */
  readonly kill: (page: Page) => Promise<void>;
  /** Loads the page past the Service Worker, as Shift and Reload do. */
  readonly reloadPast: (page: Page) => Promise<void>;
  /** Error that the browser itself reports of a request in flight when a page is left. */
  readonly ofLeaving?: RegExp;
}

const deployments: readonly Deployment[] = [
  {
    name: "Chromium",
    isHere: hasChromium,
    open: getSharedBrowser,
    async kill(page) {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("ServiceWorker.enable");
      await devtools.send("ServiceWorker.stopAllWorkers");
    },
    async reloadPast(page) {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Page.reload", { ignoreCache: true });
    },
  },
  {
    name: "Firefox",
    isHere: hasFirefox,
    open: getSharedFirefox,
    kill: endServiceWorkers,
    reloadPast: reloadPastServiceWorkers,
    ofLeaving: /^Failed to load ‘.*’\. A ServiceWorker intercepted the request/,
  },
];

/* The studio as static files below a path: its server is a Service Worker, which the browser may end at any time. */

describe.for(deployments)("The hosted studio in $name (skipped where there is none)", SUITE, (deployment) => {
  if (!deployment.isHere) return test.skip(`${deployment.name} is not installed`);
  let browser: Browser;
  let site: HostedStudio;
  let context: BrowserContext;
  let page: Page;
  let problems: string[];

  beforeAll(async () => {
    [site, browser] = await Promise.all([startHostedStudio("/sluice.docs/studio/"), deployment.open()]);
  }, 180_000);
  afterAll(() => site.close());
  beforeEach(async () => {
    problems = [];
    context = await browser.newContext({ viewport: { width: 1100, height: 800 }, reducedMotion: "reduce" });
    context.setDefaultTimeout(WAIT.timeout);
    page = await openTab(site.address);
  });
  afterEach(async () => {
    await context.close();
    expect(problems.filter((text) => !deployment.ofLeaving?.test(text))).toEqual([]);
  });

  async function openTab(address: string): Promise<Page> {
    const tab = await context.newPage();
    tab.on("pageerror", (error) => problems.push(String(error)));
    await tab.goto(address);
    return tab;
  }
  const field = (name: string, tab = page) => tab.getByRole("textbox", { name, exact: true });
  const button = (name: string, tab = page) => tab.getByRole("button", { name, exact: true });
  const findReply = (tab = page) => tab.getByRole("article", { name: "Assistant's message" }).last();
  const settled = (tab = page) => button("Send", tab).waitFor();
  async function sendMessage(text: string, tab = page): Promise<void> {
    await write(field("Message", tab), text);
    await field("Message", tab).press("Enter");
  }
  /** Waits for a response with a text that the previous response lacks. */
  async function waitForReply(text: string, tab = page): Promise<void> {
    await findReply(tab).getByText(text).first().waitFor();
    await settled(tab);
  }
  const kill = () => deployment.kill(page);

  test("A question gets its reply below the path of the page, from this browser alone", async () => {
    const hosts = new Set<string>();
    page.on("request", (request) => hosts.add(new URL(request.url()).host));
    await page.getByText("In your browser").waitFor();
    await sendMessage(question.abilities);
    await waitForReply("Try next");
    expect([...hosts]).toEqual([new URL(site.address).host]);
    expect(site.requestedURLs.filter((path) => /\/(?:v1|gamma|emulator)\//.test(path))).toEqual([]);
    expect(site.requestedURLs.filter((path) => !path.startsWith("/sluice.docs/studio/"))).toEqual([]);
  });

  test("The user can type before the Service Worker starts, and an early question waits for it", async () => {
    await page.addInitScript(noteStart);
    await page.evaluate(async () => {
      for (const registration of await navigator.serviceWorker.getRegistrations())
        await registration.unregister();
    });
    await page.reload();
    await sendMessage(question.steps);
    await waitForReply("One tip for saying it");
    expect(await page.evaluate(() => globalThis.couldWriteAtStart)).toBe(true);
  });

  test("The example is a recording while the Service Worker loads. It says so, and continues after a reload", async () => {
    await context.close();
    context = await browser.newContext({ reducedMotion: "reduce" });
    context.setDefaultTimeout(30_000);
    await context.addInitScript(() => {
      // an empty tab of Firefox has no Service Workers
      if ("ServiceWorkerContainer" in globalThis)
        ServiceWorkerContainer.prototype.register = () => new Promise(() => {});
    });
    page = await openTab(site.address);
    await button("Stream a response").click();
    await findReply().locator("p").first().waitFor();
    await page.reload();
    await waitForReply("This response is a recording");
    await expect.poll(() => findReply().getByRole("alert").count()).toBe(0);
  });

  test("The first screen loads as few scripts as the ordinary studio", async () => {
    const { scripts } = await measureFirstScreen(page, () => page.reload());
    expect(scripts.length).toBeGreaterThan(0);
    expect(await measureCompressedSize(scripts)).toBeLessThanOrEqual(MAX_SCRIPT_BYTES);
  });

  test("axe finds no problem in any room, in light and dark", async () => {
    for (const room of ["Chat", "Images", "Videos", "Assets"]) {
      await page.getByRole("link", { name: room, exact: true }).click();
      await page.getByRole("heading", { level: 1, name: room, exact: true }).waitFor();
      for (const theme of ["light", "dark"]) {
        await page.evaluate((name) => {
          document.documentElement.className = name;
        }, theme);
        await expect.poll(() => findProblems(page), { ...WAIT, message: `${room}, ${theme}` }).toEqual([]);
      }
    }
  });

  test("An image becomes an asset", async () => {
    await page.getByRole("link", { name: "Assets" }).click();
    await page.getByRole("button", { name: "Sea at sunset" }).click();
    await page.getByText("Ready").waitFor();
    // axe ends the process of this page in Firefox 153, by a fault of the browser
    if (deployment.name === "Chromium") await expect.poll(() => findProblems(page), WAIT).toEqual([]);
  });

  test("A response continues after a reload, and is requested once", async () => {
    await sendMessage(question.abilities);
    await findReply().locator("p").first().waitFor();
    await page.reload();
    await waitForReply("Try next");
    await expect.poll(() => page.getByRole("article", { name: "Assistant's message" }).count()).toBe(1);
    await expect.poll(() => findReply().getByRole("alert").count()).toBe(0);
  });

  test("Questions get replies without a network, also after a reload", async () => {
    await sendMessage(question.steps);
    await waitForReply("One tip for saying it");
    await untilCached();
    await context.setOffline(true);
    await sendMessage(question.databases);
    await waitForReply("How to decide");
    await page.reload();
    await waitForReply("How to decide");
    await sendMessage(question.formula);
    await waitForReply("In a program");
    // a worker that the browser has ended starts again without a network, too
    await kill();
    await sendMessage(question.weekend);
    await waitForReply("Roughly what it costs");
  });

  test("After its Service Worker was killed, a response is shown as cut off, and the next question gets a response", async () => {
    await sendMessage(question.weekend);
    await findReply().locator("p").first().waitFor();
    await kill();
    await page
      .getByText(/cut off|could not|interrupted|lost/i)
      .first()
      .waitFor();
    await expect.poll(() => findReply().locator("p").first().innerText()).not.toBe("");
    await sendMessage(question.databases);
    await waitForReply("How to decide");
  });

  test("A video survives a killed Service Worker, a reload and another kill", async () => {
    await page.getByRole("link", { name: "Videos" }).click();
    await write(field("Prompt"), "Waves on the open sea at sunset");
    await button("Generate").click();
    const card = page.getByRole("article", { name: "Waves on the open sea at sunset", exact: true });
    await card.getByRole("progressbar", { name: "Progress" }).waitFor();
    await kill();
    await card.getByText("Saved link").waitFor();
    await expect.poll(() => page.getByRole("article").count()).toBe(1);
    await kill();
    await page.reload();
    await card.getByText("Saved link").waitFor();
    // not every browser can decode the video, so check only that it is shown
    await expect.poll(() => card.locator("video").evaluate(readSize), WAIT).toBeGreaterThan(100);
  });

  test("A video is uploaded as a reference, in parts, and its link works for the gateway and after a kill", async () => {
    // the browser shows no body of a request that a Service Worker handles
    await page.addInitScript(() => {
      const send = fetch;
      globalThis.fetch = async (...given) => {
        const request = new Request(...given);
        if (request.url.endsWith("/v1/video/generations"))
          globalThis.videoRequest = await request.clone().text();
        return send(request);
      };
    });
    await page.reload();
    await page.getByRole("link", { name: "Videos" }).click();
    await page.getByRole("combobox", { name: "Model" }).click();
    await page.getByRole("option", { name: "gamma-video-2.0" }).click();
    await write(field("Prompt"), "Video 1 by night");
    await button("References").click();
    await button("Add: Reference videos").click();
    // longer than one part
    const buffer = Buffer.from(createVideo(640, 360, 8, { content: 8_388_608 + 1_000_000 }));
    await page
      .getByLabel("Reference videos: files")
      .setInputFiles({ name: "walk.mp4", mimeType: "video/mp4", buffer });
    await page.keyboard.press("Escape");
    await button("Remove Reference videos").waitFor();
    await button("Generate").click();
    const card = page.getByRole("article", { name: "Video 1 by night", exact: true });
    await card.getByText("Done").waitFor();
    const sent = await page.evaluate(() => globalThis.videoRequest);
    const [, url = "none"] = /"(http[^"]+\/v1\/media\/[^"]+)"/.exec(sent ?? "") ?? [];
    expect(url, sent).not.toBe("none");
    await kill();
    const size = await page.evaluate(async (link) => (await (await fetch(link)).blob()).size, url);
    expect(size).toBe(buffer.byteLength);
  });

  test("An image outlives the Service Worker, which paints it anew", async () => {
    await page.getByRole("link", { name: "Images" }).click();
    await write(field("Prompt"), "Misty mountains at dawn, with a lake in the valley");
    await button("Generate").click();
    const image = page.getByRole("img", { name: /Misty mountains/ }).first();
    await expect.poll(() => readWidth(image), WAIT).toBeGreaterThan(100);
    await kill();
    await page.reload();
    await expect.poll(() => readWidth(image), WAIT).toBeGreaterThan(100);
  });

  test("Two tabs show one conversation, and use the same Service Worker", async () => {
    await sendMessage(question.databases);
    await waitForReply("How to decide");
    const second = await openTab(page.url());
    await waitForReply("How to decide", second);
    await sendMessage(question.formula, second);
    await waitForReply("In a program", second);
    await waitForReply("In a program");
  });

  test("A page that Shift and Reload loaded comes under the control of its Service Worker", async () => {
    await sendMessage(question.databases);
    await waitForReply("How to decide");
    await Promise.all([page.waitForEvent("load"), deployment.reloadPast(page)]);
    await waitForReply("How to decide");
    await sendMessage(question.formula);
    await waitForReply("In a program");
  });

  test("A browser without Service Workers gets a page that says so", async () => {
    await context.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "serviceWorker"));
    const other = await openTab(site.address);
    await other.getByRole("heading", { name: "This browser can't run the studio here" }).waitFor();
    await expect.poll(() => findProblems(other), WAIT).toEqual([]);
  });

  test("A browser that refuses storage gets a page that says so, with a way to try again", async () => {
    await context.addInitScript(() => {
      const { serviceWorker } = navigator;
      // an empty page has none
      if (!serviceWorker) return;
      serviceWorker.register = async () => {
        throw new DOMException("storage is disabled", "SecurityError");
      };
    });
    const other = await openTab(site.address);
    await other.getByRole("heading", { name: "The studio could not start" }).waitFor();
    await other.getByText("storage is disabled").waitFor();
    await button("Try again", other).waitFor();
    await expect.poll(() => findProblems(other), WAIT).toEqual([]);
  });

  /** Waits until the Service Worker has all that the page needs to open without a network: the images come last. */
  async function untilCached(): Promise<void> {
    await expect
      .poll(async () => (await cachedPaths()).filter((name) => name.endsWith(".webp")).length, WAIT)
      .toBe(THUMBNAILS);
  }

  function cachedPaths(): Promise<readonly string[]> {
    return page.evaluate(async () => {
      const [name = ""] = await caches.keys();
      const found = await (await caches.open(name)).keys();
      return found.map(({ url }) => new URL(url).pathname);
    });
  }
});

/** Types with keys, as a person does: Firefox loses text that a script writes while a page loads. */
async function write(into: Locator, text: string): Promise<void> {
  await into.press("ControlOrMeta+a");
  await into.pressSequentially(text);
}

/** Runs in the page: notes if one could write when the Service Worker was registered. */
function noteStart(): void {
  const { serviceWorker } = navigator;
  const register = serviceWorker.register.bind(serviceWorker);
  serviceWorker.register = (...given) => {
    globalThis.couldWriteAtStart ??= document.querySelector("textarea:enabled") !== null;
    return register(...given);
  };
}

const readWidth = (image: Locator) => image.evaluate((it) => (it as HTMLImageElement).naturalWidth);

/** Runs in the page: size of a video, as its server sends it. */
async function readSize(video: SVGElement | HTMLElement): Promise<number> {
  return (await (await fetch((video as HTMLVideoElement).src)).blob()).size;
}
