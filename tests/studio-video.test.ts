import { type Browser, chromium, type Page } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";
import { type QuickStudio, startQuickStudio } from "./support/quick-studio.ts";
import { openStudio, type StudioPage } from "./support/studio-page.ts";

const executablePath = findChromium();
const PATH = "/v1/video/generations";
const MINUTE = 60_000;

describe.skipIf(!executablePath)("the studio's videos in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;
  /** How far the gateway's clock is before everybody else's. */
  let ahead = 0;

  beforeAll(async () => {
    const launch = chromium.launch({ ...(executablePath && { executablePath }), args: chromiumFlags });
    const clock = { now: () => Date.now() + ahead, sleep: async () => {} };
    [server, browser] = await Promise.all([startQuickStudio({ clock, cors: true }), launch]);
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await server.close();
  });
  beforeEach(async () => {
    ahead = 0;
    server.emulator.reset();
    studio = await openStudio(browser, `${server.address}/#video`);
  });
  afterEach(async () => {
    await studio.close();
    // the browser tells of every answer that is not 200
    expect(studio.problems.filter((text) => !/Failed to load resource|ERR_/.test(text))).toEqual([]);
  });

  const button = (name: string, page: Page = studio.page) => page.getByRole("button", { name, exact: true });
  const field = (name: string) => studio.page.getByRole("textbox", { name, exact: true });
  const card = (name: string, page: Page = studio.page) => page.getByRole("article", { name });
  const bar = (page: Page = studio.page) => page.getByRole("progressbar", { name: "Progress" });
  const questions = () =>
    server.emulator.requests.filter(({ method, path }) => method === "GET" && path.startsWith(PATH));

  const prompts = () =>
    server.created(PATH).map((body) => (body as { input: { prompt: string } }).input.prompt);

  const choose = (model: string) => studio.page.getByRole("combobox", { name: "Model" }).selectOption(model);

  async function link(name: string, url: string): Promise<void> {
    await field(`${name}: link`).fill(url);
    await field(`${name}: link`).press("Enter");
  }

  /** Lets everything that is being made be done. */
  async function finish(prompt: string): Promise<void> {
    ahead += 10 * MINUTE;
    await card(prompt).getByRole("button", { name: "Ask now" }).click();
  }

  /** Drops a file or a link on a field; a JPEG of so many pixels where the file has a `side`. */
  async function drop(
    name: string,
    data: { file?: string; type?: string; side?: number; link?: string },
  ): Promise<void> {
    const transfer = await studio.page.evaluateHandle(async ({ file, type = "", side, link: url }) => {
      const picture = side ? new OffscreenCanvas(side, side) : undefined;
      picture?.getContext("2d")?.fillRect(0, 0, 9, 9);
      const bytes = (await picture?.convertToBlob({ type })) ?? new Uint8Array(9);
      const dragged = new DataTransfer();
      if (file) dragged.items.add(new File([bytes], file, { type }));
      if (url) dragged.setData("text/uri-list", url);
      return dragged;
    }, data);
    const group = studio.page.getByRole("group", { name, exact: true });
    for (const event of ["dragenter", "dragover", "drop"])
      await group.dispatchEvent(event, { dataTransfer: transfer });
  }

  async function film(prompt: string): Promise<void> {
    await field("Prompt").fill(prompt);
    await button("Generate").click();
    await card(prompt).getByText("Asked about again in").waitFor();
  }

  test("are made, with progress on the way, and can be played", async () => {
    await field("Duration").fill("4");
    await studio.page.getByRole("combobox", { name: "Resolution" }).selectOption("720P");
    await film("A reef at dawn");
    ahead = MINUTE / 2;
    await button("Ask now").click();
    await card("A reef at dawn").getByText("Being made").waitFor();
    expect(Number(await bar().getAttribute("value"))).toBeGreaterThan(0);
    expect(await card("A reef at dawn").innerText()).toMatch(/can be asked about until/);
    ahead = 10 * MINUTE;
    await button("Ask now").click();
    const player = card("A reef at dawn").locator("video");
    await expect
      .poll(() => player.evaluate((video) => (video as HTMLVideoElement).duration))
      .toBeCloseTo(2, 0);
    expect(await card("A reef at dawn").innerText()).toMatch(/Done[\s\S]*The link works for 24 h/);
    expect(server.created(PATH)).toEqual([
      {
        model: "beta3.0-video",
        input: { prompt: "A reef at dawn" },
        parameters: { resolution: "720P", duration: 4 },
      },
    ]);
    await button("Remove").click();
    await studio.page.getByText("A video takes minutes.").waitFor();
  });

  test("are asked for once by a double click, also if the answer comes between its clicks", async () => {
    await field("Prompt").fill("A reef at dawn");
    await button("Generate").dblclick();
    await card("A reef at dawn").getByText("Asked about again in").waitFor();
    await field("Prompt").fill("A reef at noon");
    await button("Generate").hover();
    const { mouse } = studio.page;
    await mouse.down({ clickCount: 1 });
    await mouse.up({ clickCount: 1 });
    await card("A reef at noon").getByText("Asked about again in").waitFor();
    await mouse.down({ clickCount: 2 });
    await mouse.up({ clickCount: 2 });
    await film("A reef at dusk");
    expect(prompts()).toEqual(["A reef at dawn", "A reef at noon", "A reef at dusk"]);
  });

  test("are asked for once by a key that is held", async () => {
    await field("Prompt").fill("A reef at dawn");
    await button("Generate").focus();
    await studio.page.keyboard.down("Enter");
    await card("A reef at dawn").getByText("Asked about again in").waitFor();
    await studio.page.keyboard.down("Enter");
    await studio.page.keyboard.up("Enter");
    await film("A reef at dusk");
    expect(prompts()).toEqual(["A reef at dawn", "A reef at dusk"]);
  });

  test("that fail say why, and the next can be asked for", async () => {
    await film("A reef [[fail]]");
    ahead = 10 * MINUTE;
    await button("Ask now").click();
    await card("A reef [[fail]]").getByText("The gateway made no video.").waitFor();
    expect(await card("A reef [[fail]]").innerText()).toMatch(/Failed[\s\S]*rejected by the upstream check/);
    await film("A reef");
    expect(server.created(PATH)).toHaveLength(2);
  });

  test("are found again by a reload in mid-task, with how far they were, and go on", async () => {
    await film("A reef at dawn");
    ahead = MINUTE / 2;
    await button("Ask now").click();
    await card("A reef at dawn").getByText("Being made").waitFor();
    const value = Number(await bar().getAttribute("value"));
    await studio.page.reload();
    await card("A reef at dawn").waitFor();
    expect(Number(await bar().getAttribute("value"))).toBeGreaterThanOrEqual(value);
    ahead = 10 * MINUTE;
    await card("A reef at dawn").getByText("Asked about again in").waitFor();
    await button("Ask now").click();
    await card("A reef at dawn").locator("video").waitFor();
    expect(server.created(PATH)).toHaveLength(1);
  });

  test("are asked about by one of two tabs, and shown in both", async () => {
    await film("A reef at dawn");
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await card("A reef at dawn", tab).getByText("Asked about again in").waitFor();
    expect(questions()).toHaveLength(1);
    ahead = MINUTE / 2;
    await button("Ask now", tab).click();
    await card("A reef at dawn").getByText("Being made").waitFor();
    await card("A reef at dawn", tab).getByText("Being made").waitFor();
    expect(questions()).toHaveLength(2);
  });

  test("are asked about by the other tab as soon as the one that asked is closed", async () => {
    await film("A reef at dawn");
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await card("A reef at dawn", tab).getByText("Asked about again in").waitFor();
    expect(questions()).toHaveLength(1);
    ahead = 10 * MINUTE;
    await studio.page.close();
    await card("A reef at dawn", tab).locator("video").waitFor();
    expect(questions()).toHaveLength(2);
  });

  test("that the page lost sight of on their way to the gateway are shown as such", async () => {
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await studio.page.getByRole("status").getByText("Being sent").first().waitFor();
    await expect.poll(() => server.created(PATH).length).toBe(1);
    await studio.leave();
    const lost = card("A reef [[stall]]");
    await lost.getByText("it may be made, and billed").waitFor();
    await lost.getByRole("button", { name: "Remove" }).click();
    await lost.getByRole("button", { name: "Keep" }).click();
    await lost.getByRole("button", { name: "Remove" }).click();
    await lost.getByRole("button", { name: "Remove" }).click();
    await studio.page.getByText("A video takes minutes.").waitFor();
    expect(server.created(PATH)).toHaveLength(1);
  });

  test("are not asked about while there is no network, and the page says so", async () => {
    await film("A reef at dawn");
    await studio.page.context().setOffline(true);
    await card("A reef at dawn").getByText("Paused: you are offline.").waitFor();
    ahead = 10 * MINUTE;
    await studio.page.context().setOffline(false);
    await card("A reef at dawn").locator("video").waitFor();
  });

  test("have a form of what the model takes, and the rules are said at the fields", async () => {
    await field("Prompt").fill("A reef");
    await field("Duration").fill("31");
    await studio.page.getByText("a whole number of seconds from 2 to 30").waitFor();
    expect(await field("Duration").getAttribute("aria-invalid")).toBe("true");
    await button("Generate").click();
    await expect.poll(() => field("Duration").evaluate((it) => it === document.activeElement)).toBe(true);
    await field("Duration").fill("");
    await studio.page.getByText("Frames", { exact: true }).click();
    await field("Last frame: link").fill("https://example.com/last.png");
    await field("Last frame: link").press("Enter");
    await studio.page.getByText("has a last_frame without a first_frame").waitFor();
    await field("First frame: link").fill("https://example.com/first.png");
    await field("First frame: link").press("Enter");
    expect(await studio.page.getByText("has a last_frame without a first_frame").count()).toBe(0);
    await studio.page.getByRole("combobox", { name: "Model" }).selectOption("gamma-video-2.0");
    expect(await field("Seed").count()).toBe(0);
    await studio.page.getByText("References", { exact: true }).click();
    await field("Reference images: link").fill("ftp://example.com/a.png");
    await field("Reference images: link").press("Enter");
    const references = studio.page.getByRole("group", { name: "Reference images" });
    await references.getByText("must be an http(s) URL").waitFor();
    await button("Remove ftp://example.com/a.png").click();
    await studio.page.getByRole("switch", { name: "Sound" }).check();
    await button("Generate").click();
    await card("A reef").getByText("Asked about again in").waitFor();
    const image = (role: string) => ({
      type: "image_url",
      image_url: { url: `https://example.com/${role.replace("_frame", "")}.png` },
      role,
    });
    expect(server.created(PATH)).toEqual([
      {
        model: "gamma-video-2.0",
        content: [{ type: "text", text: "A reef" }, image("first_frame"), image("last_frame")],
        generate_audio: true,
        // what the model does by itself nobody knows: it is told what the form shows
        return_last_frame: false,
        watermark: false,
      },
    ]);
  });

  test("that are refused cost nothing: the page says so and why, and the form is still there", async () => {
    await studio.page.getByRole("combobox", { name: "Model" }).selectOption("gamma-video-2.0");
    await field("Prompt").fill("A reef");
    await studio.page.getByText("References", { exact: true }).click();
    await field("Reference images: link").fill("asset://nobody");
    await field("Reference images: link").press("Enter");
    await button("Generate").click();
    const alert = studio.page.getByRole("alert");
    await alert.getByText("Refused by the gateway: nothing is billed.").waitFor();
    expect(await alert.innerText()).toContain("names an asset that does not exist");
    await studio.page.getByText("A video takes minutes.").waitFor();
    await button("Remove asset://nobody").click();
    await button("Generate").click();
    await card("A reef").getByText("Asked about again in").waitFor();
    expect(await alert.count()).toBe(0);
  });

  test("of which nobody knows whether they were taken may be billed: form and list say so", async () => {
    await field("Prompt").fill("A reef [[drop]]");
    await button("Generate").click();
    await studio.page.getByRole("alert").getByText("it may be billed").waitFor();
    await card("A reef [[drop]]").getByText("Unconfirmed").waitFor();
    // the error itself says to try again, as it would of what costs nothing
    expect(await card("A reef [[drop]]").innerText()).not.toMatch(/try again/i);
    await button("Dismiss").click();
    expect(await button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    expect(server.created(PATH)).toHaveLength(1);
  });

  test("say how long they usually take: by the gateway's word, or by what was made here", async () => {
    await film("A reef at dawn");
    expect(await card("A reef at dawn").innerText()).toMatch(/\d+ s since .* · usually 1 to 5 min/);
    await choose("gamma-video-1-5-pro-251215");
    await film("A reef at noon");
    expect(await card("A reef at noon").innerText()).not.toMatch(/usually|took/);
    await finish("A reef at noon");
    await card("A reef at noon").locator("video").waitFor();
    await film("A reef at dusk");
    await card("A reef at dusk")
      .getByText(/the last one here took 1 min \d+ s/)
      .waitFor();
    await finish("A reef at dusk");
    await card("A reef at dusk").locator("video").waitFor();
    await film("A reef at night");
    await card("A reef at night")
      .getByText(/the last 2 here took 1 min \d+ s to 1 min \d+ s/)
      .waitFor();
    await choose("gamma-video-1-0-pro-fast-251015");
    await film("A river");
    expect(await card("A river").innerText()).not.toMatch(/usually|here took/);
  });

  test("start from videos and sounds, by link, where the model takes them", async () => {
    await choose("gamma-video-fast");
    await field("Prompt").fill("She waves");
    await studio.page.getByText("References", { exact: true }).click();
    await link("Reference sounds", "https://example.com/steps.mp3");
    await studio.page.getByText("has audio without an image or a video").waitFor();
    await link("Reference videos", "https://example.com/walk.mp4");
    expect(await studio.page.getByText("has audio without an image or a video").count()).toBe(0);
    await button("Generate").click();
    await card("She waves").getByText("Asked about again in").waitFor();
    expect(server.created(PATH)).toMatchObject([
      {
        content: [
          { type: "text", text: "She waves" },
          { type: "video_url", video_url: { url: "https://example.com/walk.mp4" } },
          { type: "audio_url", audio_url: { url: "https://example.com/steps.mp3" } },
        ],
      },
    ]);
    await choose("gamma-video-1-5-pro-251215");
    expect(await studio.page.getByText("References", { exact: true }).count()).toBe(0);
  });

  test("search the web where the model does, and from words alone", async () => {
    const search = studio.page.getByRole("switch", { name: "Search the web" });
    expect(await search.count()).toBe(0);
    await choose("gamma-video-fast");
    await search.check();
    await film("The weather of today");
    await studio.page.getByText("Frames", { exact: true }).click();
    await link("First frame", "https://example.com/sky.png");
    expect(await search.count()).toBe(0);
    await film("The weather of tomorrow");
    const tools = server.created(PATH).map((body) => (body as { tools?: unknown }).tools);
    expect(tools).toEqual([[{ type: "web_search" }], undefined]);
  });

  test("give their last frame too, where that is asked for", async () => {
    await choose("gamma-video-2.0");
    await studio.page.getByRole("switch", { name: "Give the last frame too" }).check();
    await film("A reef at dawn");
    await finish("A reef at dawn");
    const frame = card("A reef at dawn").getByRole("link", { name: "Last frame" });
    expect((await fetch((await frame.getAttribute("href")) ?? "")).headers.get("content-type")).toBe(
      "image/png",
    );
    await choose("gamma-video-fast");
    expect(await studio.page.getByRole("switch", { name: "Give the last frame too" }).count()).toBe(0);
    await film("A reef at dusk");
    await finish("A reef at dusk");
    await card("A reef at dusk").locator("video").waitFor();
    expect(await frame.count()).toBe(1);
    expect(await card("A reef at dusk").getByRole("link", { name: "Last frame" }).count()).toBe(0);
  });

  test("start from what is dropped on a field, or the page says why not", async () => {
    await studio.page.getByText("Frames", { exact: true }).dispatchEvent("dragenter");
    await drop("First frame", { file: "first.jpg", type: "image/jpeg", side: 300 });
    await studio.page.getByRole("list", { name: "First frame to send" }).getByText("first.jpg").waitFor();
    await drop("Last frame", { file: "last.txt", type: "text/plain" });
    await studio.page.getByText("“last.txt” is none of PNG, JPEG, WEBP.").waitFor();
    await drop("Last frame", { link: "https://example.com/last.png" });
    await studio.page.getByRole("list", { name: "Last frame to send" }).getByText("example.com").waitFor();
    await studio.page.getByText("References", { exact: true }).click();
    await drop("Document", { file: "plan.pdf", type: "application/pdf" });
    await studio.page.getByText("“plan.pdf” is on this machine only").waitFor();
    await field("Prompt").fill("A reef");
    await button("Generate").click();
    await card("A reef").getByText("Asked about again in").waitFor();
    expect(server.created(PATH)).toMatchObject([
      {
        input: {
          media: [
            { type: "first_frame", url: expect.stringContaining("data:image/jpeg;base64,") },
            { type: "last_frame", url: "https://example.com/last.png" },
          ],
        },
      },
    ]);
  });

  test("whose files break a rule are not asked for, and nothing is billed", async () => {
    await studio.page.getByText("Frames", { exact: true }).dispatchEvent("dragenter");
    await drop("First frame", { file: "tiny.jpg", type: "image/jpeg", side: 100 });
    await studio.page.getByRole("list", { name: "First frame to send" }).getByText("tiny.jpg").waitFor();
    await field("Prompt").fill("A reef");
    await button("Generate").click();
    const alert = studio.page.getByRole("alert");
    await alert.getByText("Not sent: nothing is billed.").waitFor();
    expect(await alert.innerText()).toMatch(/input\.media\.0 .*240/);
    expect(server.created(PATH)).toEqual([]);
  });

  test("can be filled in and ordered with keys alone", async () => {
    const { keyboard } = studio.page;
    await field("Prompt").focus();
    await keyboard.type("A reef");
    const walked: string[] = [];
    while (walked.length < 30 && walked.at(-1) !== "Generate") {
      await keyboard.press("Tab");
      walked.push(
        await studio.page.evaluate(() => {
          const it = document.activeElement as HTMLInputElement;
          return it.getAttribute("aria-label") ?? it.labels?.[0]?.textContent ?? it.textContent ?? "";
        }),
      );
    }
    expect(walked).toEqual([
      "Model",
      "Resolution",
      "Ratio",
      "Duration",
      "Seed",
      "Sound",
      "Let the model extend the prompt",
      "Watermark",
      "Frames",
      "References",
      "Generate",
    ]);
    await keyboard.press("Enter");
    await card("A reef").getByText("Asked about again in").waitFor();
  });

  test("are not asked about while nobody sees the page, and the page says so", async () => {
    await film("A reef at dawn");
    const seen = (state: string) =>
      studio.page.evaluate((value) => {
        Object.defineProperty(document, "visibilityState", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
    await seen("hidden");
    await card("A reef at dawn").getByText("Paused while nobody sees this page.").waitFor();
    expect(await card("A reef at dawn").getByRole("button", { name: "Ask now" }).count()).toBe(0);
    ahead = 10 * MINUTE;
    await seen("visible");
    await card("A reef at dawn").locator("video").waitFor();
  });

  test("that are made but have no link yet are asked about on, and shown once it is there", async () => {
    await film("A reef [[no-url:1]]");
    await finish("A reef [[no-url:1]]");
    await card("A reef").getByText("Made, its link is not there yet").waitFor();
    await card("A reef").getByText("Asked about again in").waitFor();
    expect(await card("A reef").locator("video").count()).toBe(0);
    await button("Ask now").click();
    await card("A reef").locator("video").waitFor();
  });

  test("that nobody can be asked about any more say so, and can be removed", async () => {
    await film("A reef at dawn");
    ahead = 25 * 60 * MINUTE;
    await studio.page.clock.install();
    await studio.page.clock.fastForward("25:00:00");
    await button("Ask now").click();
    await card("A reef at dawn").getByText("It is not asked about any more.").waitFor();
    expect(await card("A reef at dawn").getByRole("status").innerText()).toBe("Not known");
    await button("Remove").click();
    await studio.page.getByText("A video takes minutes.").waitFor();
  });

  test("have a link that counts down, and that says so when it works no more", async () => {
    await film("A reef at dawn");
    await finish("A reef at dawn");
    await card("A reef at dawn").getByText("The link works for 24 h").waitFor();
    await studio.page.clock.install();
    await studio.page.clock.fastForward("23:00:00");
    await card("A reef at dawn").getByText("The link works for 1 h").waitFor();
    await studio.page.clock.fastForward("02:00:00");
    await card("A reef at dawn").getByText("The link has run out").waitFor();
  });

  test("whose file is gone say so in its place", async () => {
    await film("A reef at dawn");
    await finish("A reef at dawn");
    await card("A reef at dawn").locator("video").waitFor();
    ahead = 25 * 60 * MINUTE;
    await studio.page.reload();
    await card("A reef at dawn").getByText("Its link does not work any more.").waitFor();
    expect(await card("A reef at dawn").getByRole("link").count()).toBe(0);
  });

  test("are saved under a name that says what they show", async () => {
    await film("A reef at dawn: Über alles?");
    await finish("A reef at dawn: Über alles?");
    const download = studio.page.waitForEvent("download");
    await card("A reef").getByRole("link", { name: "Download the video" }).click();
    expect((await download).suggestedFilename()).toBe("a-reef-at-dawn-über-alles.mp4");
    await card("A reef").getByRole("link", { name: "Download the video", exact: true }).waitFor();
    expect(studio.page.context().pages()).toHaveLength(1);
    ahead += 25 * 60 * MINUTE;
    await card("A reef").getByRole("link", { name: "Download the video" }).click();
    await card("A reef").getByText("Its link does not work any more.").waitFor();
  });

  test("on their way to the gateway are not left without the browser's asking", async () => {
    await film("A reef at dawn");
    expect(await studio.leave()).toEqual([]);
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => server.created(PATH).length).toBe(2);
    expect(await studio.leave()).toEqual(["beforeunload"]);
  });
});
