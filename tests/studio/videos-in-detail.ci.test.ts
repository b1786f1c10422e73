import type { Request } from "playwright";
import { describe, expect, test } from "vitest";
import { createVideo } from "../../packages/media/test/support/media.ts";
import { hasChromium, MINUTE } from "../support/studio-suite.ts";
import { openVideos, VIDEOS } from "../support/videos-room.ts";

const HOUR = 60 * MINUTE;

describe.skipIf(!hasChromium)("the studio's videos in Chromium (skipped where there is none)", () => {
  const { studio, button, field, findCard, findBar, sendVideo, expectVideosInProgress, pollNow, finish } =
    openVideos();
  async function choose(model: string): Promise<void> {
    await studio.page.getByRole("combobox", { name: "Model" }).click();
    await studio.page.getByRole("option", { name: model }).click();
  }
  async function link(name: string, url: string): Promise<void> {
    await field(`${name}: link`).fill(url);
    await field(`${name}: link`).press("Enter");
  }
  /** Adds a file to a field, through its box. */
  async function give(label: string, name: string, mimeType: string, buffer: Buffer): Promise<void> {
    const add = button(`Add: ${label}`);
    await add.or(button("References")).first().waitFor();
    if ((await add.count()) === 0) await button("References").click();
    await add.click();
    await studio.page.getByLabel(`${label}: files`).setInputFiles({ name, mimeType, buffer });
    await studio.page.keyboard.press("Escape");
  }
  async function drawImage(side: number): Promise<Buffer> {
    const base64 = await studio.page.evaluate(async (pixels) => {
      const image = new OffscreenCanvas(pixels, pixels);
      image.getContext("2d")?.fillRect(0, 0, 9, 9);
      const bytes = new Uint8Array(await (await image.convertToBlob({ type: "image/jpeg" })).arrayBuffer());
      return btoa(String.fromCharCode(...bytes));
    }, side);
    return Buffer.from(base64, "base64");
  }

  test("have settings without a gap between their rows", async () => {
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    const rows = studio.page.getByRole("dialog", { name: "Settings" }).locator("> :not(h2)");
    await rows.getByText("Length").waitFor();
    const heights = await rows.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().height));
    // the ratios have two lines, every other row has one
    expect(Math.max(...heights)).toBeLessThan(100);
    await studio.page.keyboard.press("Escape");
  });

  test("start, are made, and are estimated only once the gateway reports their progress", async () => {
    const prompt = "[[slow]] A reef at dawn";
    await sendVideo(prompt);
    await findCard(prompt)
      .getByText(/^Starting · \d+ s$/)
      .waitFor();
    studio.ahead = 16_000;
    await pollNow();
    await findCard(prompt)
      .getByText(/^Making your video · \d+ s$/)
      .waitFor();
    studio.ahead = 2 * MINUTE;
    await pollNow();
    await findCard(prompt)
      .getByText(/^About \d+ s left$/)
      .waitFor();
  });

  test("are paid for once by a double click, also if the response comes between its clicks, and deleted after a question", async () => {
    await field("Prompt").fill("A reef at dawn");
    await button("Generate").dblclick();
    await expectVideosInProgress(1);
    await field("Prompt").fill("A reef at noon");
    await button("Generate").hover();
    const { mouse } = studio.page;
    await mouse.down({ clickCount: 1 });
    await mouse.up({ clickCount: 1 });
    await expectVideosInProgress(2);
    await mouse.down({ clickCount: 2 });
    await mouse.up({ clickCount: 2 });
    await sendVideo("A reef at dusk");
    const prompts = studio
      .created(VIDEOS)
      .map((body) => (body as { input: { prompt: string } }).input.prompt);
    expect(prompts).toEqual(["A reef at dawn", "A reef at noon", "A reef at dusk"]);
    const remove = findCard("A reef at dawn").getByRole("button", { name: "Delete" });
    const dialog = studio.page.getByRole("dialog", { name: "Delete this video?" });
    await remove.click();
    await dialog.getByRole("button", { name: "Keep" }).click();
    await dialog.waitFor({ state: "detached" });
    await remove.click();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await findCard("A reef at dawn").waitFor({ state: "detached" });
  });

  test("continue after a reload, in another tab, and after the network was lost", async () => {
    await sendVideo("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await pollNow();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    await studio.page.reload();
    await findCard("A reef at dawn").waitFor();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await findCard("A reef at dawn", tab).waitFor();
    // a background tab draws at most one frame per second
    await studio.page.bringToFront();
    const context = studio.page.context();
    await context.setOffline(true);
    await findCard("A reef at dawn").getByText("Offline. It continues later.").waitFor();
    studio.ahead = 10 * MINUTE;
    await context.setOffline(false);
    await findCard("A reef at dawn").locator("video").waitFor();
    await findCard("A reef at dawn", tab).locator("video").waitFor();
    expect(studio.created(VIDEOS)).toHaveLength(1);
  });

  test("continue without a network while the server of this machine responds", async () => {
    const { page } = studio;
    await page.evaluate(() => {
      Object.defineProperty(navigator, "onLine", { value: false });
      dispatchEvent(new Event("offline"));
    });
    await sendVideo("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await pollNow();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    await expect.poll(() => page.getByText(/^Offline\. |^No connection/).count()).toBe(0);
    // the server is gone
    await page.route("**/*", (route) => route.abort("connectionrefused"));
    await pollNow();
    await findCard("A reef at dawn").getByText("Offline. It continues later.").waitFor();
    await page.getByText("No connection", { exact: true }).waitFor();
    await page.unroute("**/*");
    studio.ahead = 10 * MINUTE;
    await pollNow();
    await findCard("A reef at dawn").locator("video").waitFor();
    await expect.poll(() => page.getByText(/^Offline\. |^No connection/).count()).toBe(0);
    expect(studio.created(VIDEOS)).toHaveLength(1);
  });

  test("Failed videos show the reason; lost videos may be billed, and are sent again only by the user", async () => {
    await sendVideo("A reef [[fail]]");
    studio.ahead = 10 * MINUTE;
    await pollNow();
    await findCard("A reef [[fail]]").getByText("The video failed").waitFor();
    await findCard("A reef [[fail]]").getByText("rejected by the upstream check").waitFor();
    await field("Prompt").fill("");
    await button("Edit and retry").click();
    await expect.poll(() => field("Prompt").inputValue()).toBe("A reef [[fail]]");
    expect(studio.created(VIDEOS)).toHaveLength(1);
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(VIDEOS).length).toBe(2);
    expect(await studio.reloadAndListDialogs()).toEqual(["beforeunload"]);
    const stalledCard = findCard("A reef [[stall]]");
    await stalledCard.getByText("You may have been charged. A retry may cost twice.").waitFor();
    expect(studio.created(VIDEOS)).toHaveLength(2);
    await stalledCard.getByRole("button", { name: "Retry anyway" }).click();
    await expect.poll(() => studio.created(VIDEOS).length).toBe(3);
    expect(studio.created(VIDEOS)[2]).toEqual(studio.created(VIDEOS)[1]);
    await studio.reloadAndListDialogs();
  });

  test("begin and end with frames, and a form without any says what is missing", async () => {
    await button("Generate").click();
    await studio.page.getByText("Add a prompt or an image.").waitFor();
    await expect.poll(() => field("Prompt").evaluate((it) => it === document.activeElement)).toBe(true);
    await give("Last frame", "last.txt", "text/plain", Buffer.from("text"));
    await studio.page.getByText("“\u2068last.txt\u2069” is not an image.").waitFor();
    await give("Last frame", "last.jpg", "image/jpeg", await drawImage(300));
    await button("Remove Last frame").waitFor();
    await studio.page.getByText("Add a first frame, too.").waitFor();
    await button("Add: First frame").click();
    await link("First frame", "https://example.com/first.png");
    await studio.page.getByText("Add a first frame, too.").waitFor({ state: "detached" });
    await studio.page.keyboard.press("Escape");
    await button("Generate").click();
    await expectVideosInProgress(1);
    expect(studio.created(VIDEOS)).toMatchObject([
      {
        input: {
          media: [
            { type: "first_frame", url: "https://example.com/first.png" },
            { type: "last_frame", url: expect.stringContaining("data:image/jpeg;base64,") },
          ],
        },
      },
    ]);
  });

  test("have a form of what the model takes: references, sound and the last frame", async () => {
    await choose("gamma-video-2.0");
    await field("Prompt").fill("She waves");
    await button("References").click();
    await button("Add: Reference sounds").click();
    await link("Reference sounds", "https://example.com/steps.mp3");
    await studio.page.getByText("Add an image or a video, too.").waitFor();
    await studio.page.keyboard.press("Escape");
    await button("Add: Reference videos").click();
    await link("Reference videos", "https://example.com/walk.mp4");
    await studio.page.getByText("Add an image or a video, too.").waitFor({ state: "detached" });
    await studio.page.keyboard.press("Escape");
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    await studio.page.getByText("More settings").click();
    await studio.page.getByRole("switch", { name: "Return last frame" }).click();
    await button("Sound").click();
    await studio.page.keyboard.press("Escape");
    await button("Generate").click();
    await expectVideosInProgress(1);
    expect(studio.created(VIDEOS)).toEqual([
      {
        model: "gamma-video-2.0",
        content: [
          { type: "text", text: "She waves" },
          { type: "video_url", video_url: { url: "https://example.com/walk.mp4" } },
          { type: "audio_url", audio_url: { url: "https://example.com/steps.mp3" } },
        ],
        generate_audio: true,
        return_last_frame: true,
      },
    ]);
    await finish("She waves");
    await findCard("She waves").getByRole("link", { name: "Last frame" }).waitFor();
  });

  test("take videos as files: checked first, uploaded once, and used after a reload", async () => {
    await field("Prompt").fill("Video 1 by night");
    const video = (seconds: number) => Buffer.from(createVideo(640, 360, seconds, { content: 64 }));
    await give("Reference videos", "long.mp4", "video/mp4", video(20));
    await studio.page.getByText("“\u2068long.mp4\u2069”: It must last 1 to 15 seconds.").waitFor();
    // the proxy of this suite has no storage for files: the test responds
    const url = "https://example.com/v1/media/walk.mp4";
    const uploads: Request[] = [];
    const walk = video(5);
    await studio.page.route("**/v1/uploads**", (route) => {
      uploads.push(route.request());
      return route.fulfill({
        json: { id: "u1", offset: walk.byteLength, url, expiresAt: Date.now() + 24 * HOUR },
      });
    });
    await give("Reference videos", "walk.mp4", "video/mp4", walk);
    await button("Remove Reference videos").waitFor();
    await studio.page.reload();
    await button("Remove Reference videos").waitFor();
    await button("Generate").click();
    await expectVideosInProgress(1);
    const media = [{ type: "reference_video", url }];
    expect(studio.created(VIDEOS)).toMatchObject([{ input: { media } }]);
    expect(uploads.map((request) => request.method())).toEqual(["POST"]);
    await studio.page.unroute("**/v1/uploads**");
  });

  test("A file that the server can't store is not part of the request", async () => {
    await field("Prompt").fill("A walk");
    await give(
      "Reference videos",
      "walk.mp4",
      "video/mp4",
      Buffer.from(createVideo(640, 360, 5, { content: 64 })),
    );
    await studio.page.getByText("“\u2068walk.mp4\u2069” can't be used here.").waitFor();
    await expect.poll(() => button("Remove Reference videos").count()).toBe(0);
    expect(studio.created(VIDEOS)).toEqual([]);
  });

  test("begin with an example in the form, which costs nothing before Generate, and are saved under the name of their prompt", async () => {
    await studio.page.getByRole("button", { name: /^Sea at sunset/ }).dblclick();
    await expect.poll(() => field("Prompt").inputValue()).toBe("Waves on the open sea at sunset");
    await expect.poll(() => button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    expect(studio.created(VIDEOS)).toEqual([]);
    await studio.page.keyboard.press("Enter");
    await expectVideosInProgress(1);
    await finish("Waves on the open sea at sunset");
    const download = studio.page.waitForEvent("download");
    await button("Download").click();
    expect((await download).suggestedFilename()).toBe("waves-on-the-open-sea-at-sunset.mp4");
  });
});
