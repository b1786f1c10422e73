/** @module-tag long */
import { describe, expect, test } from "vitest";
import { hasChromium, MINUTE } from "./support/studio-suite.ts";
import { openVideos, PATH } from "./support/studio-video.ts";

describe.skipIf(!hasChromium)("the studio's videos in Chromium (skipped where there is none)", () => {
  const { studio, button, field, card, choose, film, finish, bar } = openVideos();
  const prompts = () =>
    studio.created(PATH).map((body) => (body as { input: { prompt: string } }).input.prompt);

  test("are made, with progress on the way, and can be played", async () => {
    await field("Duration").fill("4");
    await studio.page.getByRole("combobox", { name: "Resolution" }).selectOption("720P");
    await film("A reef at dawn");
    studio.ahead = MINUTE / 2;
    await button("Ask now").click();
    await card("A reef at dawn").getByText("Being made").waitFor();
    expect(Number(await bar().getAttribute("value"))).toBeGreaterThan(0);
    expect(await card("A reef at dawn").innerText()).toMatch(/can be asked about until/);
    studio.ahead = 10 * MINUTE;
    await button("Ask now").click();
    const player = card("A reef at dawn").locator("video");
    await expect
      .poll(() => player.evaluate((video) => (video as HTMLVideoElement).duration))
      .toBeCloseTo(2, 0);
    expect(await card("A reef at dawn").innerText()).toMatch(/Done[\s\S]*The link works for 24 h/);
    expect(studio.created(PATH)).toEqual([
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
    studio.ahead = 10 * MINUTE;
    await button("Ask now").click();
    await card("A reef [[fail]]").getByText("The gateway made no video.").waitFor();
    expect(await card("A reef [[fail]]").innerText()).toMatch(/Failed[\s\S]*rejected by the upstream check/);
    await film("A reef");
    expect(studio.created(PATH)).toHaveLength(2);
  });

  test("that the page lost sight of on their way to the gateway are shown as such", async () => {
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await studio.page.getByRole("status").getByText("Being sent").first().waitFor();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    await studio.leave();
    const lost = card("A reef [[stall]]");
    await lost.getByText("it may be made, and billed").waitFor();
    await lost.getByRole("button", { name: "Remove" }).click();
    await lost.getByRole("button", { name: "Keep" }).click();
    await lost.getByRole("button", { name: "Remove" }).click();
    await lost.getByRole("button", { name: "Remove" }).click();
    await studio.page.getByText("A video takes minutes.").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
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
    expect(studio.created(PATH)).toHaveLength(1);
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

  test("on their way to the gateway are not left without the browser's asking", async () => {
    await film("A reef at dawn");
    expect(await studio.leave()).toEqual([]);
    await field("Prompt").fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(PATH).length).toBe(2);
    expect(await studio.leave()).toEqual(["beforeunload"]);
  });
});
