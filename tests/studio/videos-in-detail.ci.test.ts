import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Request, Route } from "playwright";
import { afterAll, describe, expect, test } from "vitest";
import { createVideo } from "../../packages/media/test/support/media.ts";
import { hasChromium, MINUTE } from "../support/studio-suite.ts";
import { openVideos, VIDEOS } from "../support/videos-room.ts";

const HOUR = 60 * MINUTE;

describe.skipIf(!hasChromium)("the studio's videos in Chromium (skipped where there is none)", () => {
  const { studio, button, field, findCard, findBar, sendVideo, isFilming, look, finish } = openVideos();
  const folder = mkdtempSync(join(tmpdir(), "sluice-films-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  async function choose(model: string): Promise<void> {
    await studio.page.getByRole("combobox", { name: "Model" }).click();
    await studio.page.getByRole("option", { name: model }).click();
  }
  async function link(name: string, url: string): Promise<void> {
    await field(`${name}: link`).fill(url);
    await field(`${name}: link`).press("Enter");
  }
  /** Drops a picture with sides of so many pixels, or another file. */
  async function drop(name: string, file: string, type: string, side = 0): Promise<void> {
    const transfer = await studio.page.evaluateHandle(
      async (given) => {
        const picture = given.side ? new OffscreenCanvas(given.side, given.side) : undefined;
        picture?.getContext("2d")?.fillRect(0, 0, 9, 9);
        const bytes = (await picture?.convertToBlob({ type: given.type })) ?? new Uint8Array(9);
        const dragged = new DataTransfer();
        dragged.items.add(new File([bytes], given.file, { type: given.type }));
        return dragged;
      },
      { file, type, side },
    );
    const tile = studio.page.getByRole("group", { name, exact: true });
    for (const event of ["dragenter", "dragover", "drop"])
      await tile.dispatchEvent(event, { dataTransfer: transfer });
  }

  test("start, are made, and are estimated only once the gateway has said how far they are", async () => {
    const prompt = "[[slow]] A reef at dawn";
    await sendVideo(prompt);
    await findCard(prompt)
      .getByText(/^Starting · \d+ s$/)
      .waitFor();
    studio.ahead = 16_000;
    await look();
    await findCard(prompt)
      .getByText(/^Making your video · \d+ s$/)
      .waitFor();
    studio.ahead = 2 * MINUTE;
    await look();
    await findCard(prompt)
      .getByText(/^About \d+ s left$/)
      .waitFor();
  });

  test("are paid for once by a double click, also if the answer comes between its clicks, and deleted after a question", async () => {
    await field("Prompt").fill("A reef at dawn");
    await button("Generate").dblclick();
    await isFilming(1);
    await field("Prompt").fill("A reef at noon");
    await button("Generate").hover();
    const { mouse } = studio.page;
    await mouse.down({ clickCount: 1 });
    await mouse.up({ clickCount: 1 });
    await isFilming(2);
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
    await button("2 running").waitFor();
  });

  test("are found again by a reload in mid-task and in another tab, and go on after the network was away", async () => {
    await sendVideo("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await look();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    await studio.page.reload();
    await findCard("A reef at dawn").waitFor();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await findCard("A reef at dawn", tab).waitFor();
    // behind another, a tab draws no more than a frame a second
    await studio.page.bringToFront();
    // the shell has loaded all its parts
    await button("1 running").waitFor();
    const context = studio.page.context();
    await context.setOffline(true);
    await findCard("A reef at dawn").getByText("Offline. It goes on later.").waitFor();
    studio.ahead = 10 * MINUTE;
    await context.setOffline(false);
    await findCard("A reef at dawn").locator("video").waitFor();
    await findCard("A reef at dawn", tab).locator("video").waitFor();
    expect(studio.created(VIDEOS)).toHaveLength(1);
  });

  test("go on without a network while the server of this machine answers", async () => {
    const { page } = studio;
    await page.evaluate(() => {
      Object.defineProperty(navigator, "onLine", { value: false });
      dispatchEvent(new Event("offline"));
    });
    await sendVideo("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await look();
    await expect.poll(async () => Number(await findBar().getAttribute("aria-valuenow"))).toBeGreaterThan(0);
    await expect.poll(() => page.getByText(/^Offline\. |^No connection/).count()).toBe(0);
    // the server is gone
    await page.route("**/*", (route) => route.abort("connectionrefused"));
    await look();
    await findCard("A reef at dawn").getByText("Offline. It goes on later.").waitFor();
    await page.getByText("No connection", { exact: true }).waitFor();
    await page.unroute("**/*");
    studio.ahead = 10 * MINUTE;
    await look();
    await findCard("A reef at dawn").locator("video").waitFor();
    await expect.poll(() => page.getByText(/^Offline\. |^No connection/).count()).toBe(0);
    expect(studio.created(VIDEOS)).toHaveLength(1);
  });

  test("Videos that fail say why; those that were lost may be billed, and are sent again only when told to", async () => {
    await sendVideo("A reef [[fail]]");
    studio.ahead = 10 * MINUTE;
    await look();
    await findCard("A reef [[fail]]").getByText("The video failed").waitFor();
    await findCard("A reef [[fail]]").getByText("rejected by the upstream check").waitFor();
    await field("Prompt").fill("");
    await button("Edit and retry").click();
    await expect.poll(() => field("Prompt").inputValue()).toBe("A reef [[fail]]");
    expect(studio.created(VIDEOS)).toHaveLength(1);
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(VIDEOS).length).toBe(2);
    await button("1 running").waitFor();
    expect(await studio.leave()).toEqual(["beforeunload"]);
    const lost = findCard("A reef [[stall]]");
    await lost.getByText("You may have been charged. A retry may cost twice.").waitFor();
    expect(studio.created(VIDEOS)).toHaveLength(2);
    await lost.getByRole("button", { name: "Retry anyway" }).click();
    await expect.poll(() => studio.created(VIDEOS).length).toBe(3);
    expect(studio.created(VIDEOS)[2]).toEqual(studio.created(VIDEOS)[1]);
    await studio.leave();
  });

  test("begin and end with frames, and a form without any says what is missing", async () => {
    await button("Generate").click();
    await studio.page.getByText("Add a prompt or a picture.").waitFor();
    await expect.poll(() => field("Prompt").evaluate((it) => it === document.activeElement)).toBe(true);
    await drop("Last frame", "last.txt", "text/plain");
    await studio.page.getByText("“last.txt” is not a picture.").waitFor();
    await drop("Last frame", "last.jpg", "image/jpeg", 300);
    await button("Remove Last frame").waitFor();
    await studio.page.getByText("Add a first frame, too.").waitFor();
    await button("Generate").click();
    await expect.poll(() => button("First frame").evaluate((it) => it === document.activeElement)).toBe(true);
    await button("First frame").click();
    await link("First frame", "https://example.com/first.png");
    await studio.page.getByText("Add a first frame, too.").waitFor({ state: "detached" });
    await expect.poll(() => button("References").count()).toBe(0);
    await button("Generate").click();
    await isFilming(1);
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

  test("have a form of what the model takes: references, web search and the last frame", async () => {
    await choose("gamma-video-2.0");
    await field("Prompt").fill("She waves");
    await studio.page.getByRole("button", { name: "Web search" }).waitFor();
    await button("References").click();
    await link("Reference sounds", "https://example.com/steps.mp3");
    await studio.page.getByText("Add a picture or a video, too.").waitFor();
    await link("Reference videos", "https://example.com/walk.mp4");
    await studio.page.getByText("Add a picture or a video, too.").waitFor({ state: "detached" });
    await studio.page.keyboard.press("Escape");
    await expect.poll(() => studio.page.getByRole("button", { name: "Web search" }).count()).toBe(0);
    await button("More settings").click();
    await studio.page.getByRole("switch", { name: "Return last frame" }).click();
    await studio.page.keyboard.press("Escape");
    await button("Sound").click();
    await button("Generate").click();
    await isFilming(1);
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

  /** Chooses an MP4 of so many seconds, with so many bytes of pictures, as a reference. Resolves to its size. */
  async function give(name: string, seconds: number, content = 64): Promise<number> {
    const path = join(folder, name);
    const film = createVideo(640, 360, seconds, { content });
    await writeFile(path, film);
    await studio.page.getByLabel("Reference videos: files").setInputFiles(path);
    return film.byteLength;
  }
  const uploadBar = () => studio.page.getByRole("progressbar", { name: "Upload" });

  test("take films as files: checked first, uploaded with progress, never sent without, and not uploaded twice", async () => {
    const PART = 8_388_608;
    await field("Prompt").fill("Video 1 by night");
    await button("References").click();
    await give("long.mp4", 20);
    await studio.page.getByText("“long.mp4”: It must take 1 to 15 seconds.").waitFor();
    const size = await give("walk.mp4", 8, PART + 1_000_000);
    await give("run.mp4", 9);
    await studio.page.getByText("All videos: 15 s at most.").waitFor();
    await studio.page.keyboard.press("Escape");
    await button("Remove run.mp4").click();
    await studio.page.getByText("All videos: 15 s at most.").waitFor({ state: "detached" });

    // the proxy of this suite has no place for files: the test answers, one request at a time
    const uploads: Request[] = [];
    const answers: ((route: Route) => Promise<void>)[] = [];
    await studio.page.route("**/v1/uploads**", async (route) => {
      uploads.push(route.request());
      await answers.shift()?.(route);
    });
    const stored = (offset: number, url?: string) => (route: Route) =>
      route.fulfill({ json: { id: "u1", offset, ...(url && { url, expiresAt: Date.now() + 24 * HOUR }) } });
    answers.push((route) =>
      route.fulfill({ status: 413, json: { error: { code: "storage_full", message: "full" } } }),
    );
    await button("Generate").click();
    await studio.page.getByText("Use a smaller file, or fewer. Nothing was billed.").waitFor();
    await button("Dismiss").click();

    // its second part has no answer
    answers.push(stored(PART));
    await button("Generate").click();
    await expect.poll(() => uploadBar().getAttribute("aria-valuenow")).toBe("89");
    await button("Cancel").click();
    await uploadBar().waitFor({ state: "detached" });
    expect(studio.created(VIDEOS)).toEqual([]);

    const url = "https://example.com/v1/media/walk.mp4";
    answers.push(stored(PART), stored(size, url));
    await button("Generate").click();
    await isFilming(1);
    expect(uploads.map((request) => request.method())).toEqual(["POST", "POST", "PATCH", "GET", "PATCH"]);
    await button("Generate").click();
    await isFilming(2);
    expect(uploads).toHaveLength(5);
    const media = [{ type: "reference_video", url }];
    expect(studio.created(VIDEOS)).toMatchObject([{ input: { media } }, { input: { media } }]);

    // after a reload its link is used, and a file that was never sent is asked for again
    await expect
      .poll(() => studio.page.evaluate(() => localStorage.getItem("sluice-uploads")))
      .toContain(url);
    await button("References").click();
    await give("run.mp4", 5);
    await studio.page.keyboard.press("Escape");
    await button("Remove run.mp4").waitFor();
    await studio.page.reload();
    await studio.page.getByText("Choose “run.mp4” again. The page was reloaded.").waitFor();
    await button("Remove walk.mp4").waitFor();
    await button("Generate").click();
    await isFilming(3);
    expect(uploads).toHaveLength(5);
    expect(studio.created(VIDEOS)[2]).toMatchObject({ input: { media } });
    await studio.page.unroute("**/v1/uploads**");
  });

  test("say so where the server stores no files", async () => {
    await field("Prompt").fill("A walk");
    await button("References").click();
    await give("walk.mp4", 5);
    await button("Remove walk.mp4").waitFor();
    await studio.page.keyboard.press("Escape");
    await button("Generate").click();
    await studio.page.getByText("This server stores no files. Use a link instead of the file.").waitFor();
    expect(studio.created(VIDEOS)).toEqual([]);
    await button("Dismiss").click();

    // a 404 of the gateway says nothing about files
    const upload = "**/v1/uploads**";
    const refusal = { error: { code: "not_found", message: "There is no such model." } };
    await studio.page.route(upload, (route) => route.fulfill({ status: 404, json: refusal }));
    await button("Generate").click();
    await studio.page.getByText("Not found").waitFor();
    await studio.page.unroute(upload);
  });

  test("begin with an example in the form, which costs nothing before Generate, and are saved under the name of their prompt", async () => {
    await studio.page.getByRole("button", { name: /^Sea at sunset/ }).dblclick();
    await expect.poll(() => field("Prompt").inputValue()).toBe("Waves on the open sea at sunset");
    await expect.poll(() => button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    expect(studio.created(VIDEOS)).toEqual([]);
    await studio.page.keyboard.press("Enter");
    await isFilming(1);
    await finish("Waves on the open sea at sunset");
    const download = studio.page.waitForEvent("download");
    await button("Download").click();
    expect((await download).suggestedFilename()).toBe("waves-on-the-open-sea-at-sunset.mp4");
  });
});
