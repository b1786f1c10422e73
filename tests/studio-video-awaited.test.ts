/** @module-tag long */
import { describe, expect, test } from "vitest";
import { hasChromium, MINUTE } from "./support/studio-suite.ts";
import { openVideos, PATH } from "./support/studio-video.ts";

describe.skipIf(!hasChromium)("the studio's awaited videos in Chromium (skipped where there is none)", () => {
  const { studio, button, card, film, finish, bar, questions } = openVideos();

  test("are found again by a reload in mid-task, with how far they were, and go on", async () => {
    await film("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await button("Ask now").click();
    await card("A reef at dawn").getByText("Being made").waitFor();
    const value = Number(await bar().getAttribute("value"));
    await studio.page.reload();
    await card("A reef at dawn").waitFor();
    expect(Number(await bar().getAttribute("value"))).toBeGreaterThanOrEqual(value);
    studio.ahead = 10 * MINUTE;
    await card("A reef at dawn").getByText("Asked about again in").waitFor();
    await button("Ask now").click();
    await card("A reef at dawn").locator("video").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("are asked about by one of two tabs, and shown in both", async () => {
    await film("A reef at dawn");
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await card("A reef at dawn", tab).getByText("Asked about again in").waitFor();
    expect(questions()).toHaveLength(1);
    studio.ahead = MINUTE / 2;
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
    studio.ahead = 10 * MINUTE;
    await studio.page.close();
    await card("A reef at dawn", tab).locator("video").waitFor();
    expect(questions()).toHaveLength(2);
  });

  test("are not asked about while there is no network, and the page says so", async () => {
    await film("A reef at dawn");
    await studio.page.context().setOffline(true);
    await card("A reef at dawn").getByText("Paused: you are offline.").waitFor();
    studio.ahead = 10 * MINUTE;
    await studio.page.context().setOffline(false);
    await card("A reef at dawn").locator("video").waitFor();
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
    studio.ahead = 10 * MINUTE;
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
    studio.ahead = 25 * 60 * MINUTE;
    studio.spend();
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
    studio.spend();
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
    studio.ahead = 25 * 60 * MINUTE;
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
    studio.ahead += 25 * 60 * MINUTE;
    await card("A reef").getByRole("link", { name: "Download the video" }).click();
    await card("A reef").getByText("Its link does not work any more.").waitFor();
  });
});
