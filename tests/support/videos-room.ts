import type { Page } from "playwright";
import { expect } from "vitest";
import { MINUTE, openRoom } from "./studio-suite.ts";

/** Path of the requests for videos. */
export const VIDEOS = "/v1/video/generations";

/** Opens the studio's videos for the tests of the suite that calls this. */
export function openVideos() {
  const studio = openRoom("videos", { cors: true }, /Failed to load resource|ERR_|Content Security Policy/);
  const { button, field } = studio;
  const findCard = (name: string, page: Page = studio.page) =>
    page.getByRole("article", { name, exact: true });
  const findBar = (page: Page = studio.page) =>
    page.getByRole("progressbar", { name: "Progress", exact: true });
  const listPolls = () =>
    studio.emulator.requests.filter(({ method, path }) => method === "GET" && path.startsWith(VIDEOS));

  /** Sends a prompt, and waits until the gateway has it and was polled. */
  async function sendVideo(prompt: string): Promise<void> {
    const before = studio.created(VIDEOS).length;
    await field("Prompt").fill(prompt);
    await button("Generate").click();
    await expectVideosInProgress(before + 1);
  }
  async function expectVideosInProgress(count: number): Promise<void> {
    await expect.poll(() => studio.created(VIDEOS).length).toBe(count);
    await expect.poll(() => new Set(listPolls().map(({ path }) => path)).size).toBe(count);
  }
  /** Hides the page and shows it again: a page that becomes visible polls immediately. */
  async function pollNow(page: Page = studio.page): Promise<void> {
    for (const state of ["hidden", "visible"])
      await page.evaluate((value) => {
        Object.defineProperty(document, "visibilityState", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
  }
  async function finish(prompt: string): Promise<void> {
    studio.ahead += 10 * MINUTE;
    await pollNow();
    await findCard(prompt).locator("video").waitFor();
  }
  return {
    studio,
    button,
    field,
    findCard,
    findBar,
    sendVideo,
    expectVideosInProgress,
    pollNow,
    finish,
  };
}
