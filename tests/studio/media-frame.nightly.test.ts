import type { Locator } from "playwright";
import { afterEach, describe, expect, test } from "vitest";
import { hasChromium, MINUTE, openRoom, PNG } from "../support/studio-suite.ts";

/*
 * The words and buttons of a frame whose file can't be shown. The tests stand between the page and the
 * server of the files.
 */

const FILES = "**/files/**";
const expected = /Failed to load resource|ERR_|MEDIA_ELEMENT_ERROR/;
const image = Uint8Array.from(Buffer.from(PNG, "base64"));

describe.skipIf(!hasChromium)("frames of images in Chromium (skipped where there is none)", () => {
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY, image }, expected);
  const { button } = studio;
  const tile = () => studio.page.getByRole("listitem", { name: "A reef" });
  /** Waits until the image is loaded. */
  const isShown = () =>
    expect
      .poll(() =>
        tile()
          .getByRole("img", { name: "A reef" })
          .evaluateAll((found) => found.map((it) => (it as HTMLImageElement).naturalWidth)),
      )
      .toEqual([1]);
  const within = (name: string) => tile().getByRole("button", { name, exact: true });

  async function make(): Promise<void> {
    await studio.page.getByRole("textbox", { name: "Prompt" }).fill("A reef");
    await button("Generate").click();
    await tile().waitFor();
  }
  /** Lets the files through again. */
  const restore = () => studio.page.unroute(FILES);
  // the next test gets the same tab
  afterEach(restore);

  test("An image that the network blocks says so, keeps its actions, and appears once the network is back", async () => {
    await studio.page.route(FILES, (route) => route.abort("internetdisconnected"));
    await make();
    await tile().getByText("Could not load").waitFor();
    await expect.poll(() => studio.page.getByText("No longer available").count()).toBe(0);
    await within("Download").waitFor();
    await within("Actions").click();
    const items = studio.page.getByRole("menuitem");
    await items.first().waitFor();
    await expect
      .poll(() => items.allInnerTexts())
      .toEqual(expect.arrayContaining(["Open", "Reuse settings", "Copy prompt", "Download", "Delete"]));
    await studio.page.keyboard.press("Escape");
    await restore();
    await studio.page.evaluate(() => dispatchEvent(new Event("online")));
    await isShown();
    await expect.poll(() => tile().getByText("Could not load").count()).toBe(0);
  });

  test("An image that could not load is retried by itself, a limited number of times", async () => {
    let loads = 0;
    studio.spend();
    await studio.page.clock.install();
    await studio.page.route(FILES, (route) => {
      if (route.request().resourceType() === "image") loads += 1;
      return route.abort("connectionreset");
    });
    await make();
    await tile().getByText("Could not load").waitFor();
    const loadsInAll = async () => {
      await studio.page.clock.runFor(MINUTE);
      return loads;
    };
    await expect.poll(loadsInAll).toBe(7);
    await studio.page.clock.runFor(60 * MINUTE);
    expect(loads).toBe(7);
    await restore();
    await within("Try again").click();
    await isShown();
  });

  test("An image whose server fails may still load; a twice refused image is gone until it is requested again", async () => {
    let status = 503;
    await studio.page.route(FILES, (route) =>
      route.fulfill({ status, headers: { "access-control-allow-origin": "*" } }),
    );
    await make();
    await tile().getByText("Could not load").waitFor();
    for (status of [403, 404, 410]) {
      await within("Try again").click();
      await tile().getByText("No longer available").waitFor();
      await expect.poll(() => within("Download").count()).toBe(0);
      await within("Reuse settings").waitFor();
      await within("Delete").waitFor();
      if (status === 410) break;
      await restore();
      // a page that becomes visible requests the file itself, as this page does when another test's page closes
      await Promise.race([within("Try again").click(), isShown()]);
      await isShown();
      await studio.page.route(FILES, (route) =>
        route.fulfill({ status, headers: { "access-control-allow-origin": "*" } }),
      );
      await studio.page.reload();
    }
  });

  test("An image is shown although one response for it was bad", async () => {
    let requests = 0;
    await studio.page.route(FILES, (route) => {
      requests += 1;
      return requests === 1 ? route.fulfill({ status: 404 }) : route.continue();
    });
    await make();
    await isShown();
    await expect.poll(() => requests).toBe(3);
    await expect
      .poll(() =>
        tile()
          .getByText(/No longer|Could not/)
          .count(),
      )
      .toBe(0);
  });

  test("An image that this browser can't show can be downloaded, twice and at once", async () => {
    await studio.page.route(FILES, (route) =>
      route.fulfill({
        body: "no image",
        headers: { "content-type": "image/png", "access-control-allow-origin": "*" },
      }),
    );
    await make();
    await tile().getByText("Can't show here").waitFor();
    for (const _ of [1, 2]) {
      const download = studio.page.waitForEvent("download");
      await within("Download").first().click();
      expect((await download).suggestedFilename()).toBe("a-reef.png");
    }
  });

  test("A download that fails says so, and the image stays", async () => {
    await make();
    await isShown();
    await studio.page.route(FILES, (route) =>
      route.fulfill({ status: 500, headers: { "access-control-allow-origin": "*" } }),
    );
    await tile().hover();
    await within("Download").click();
    await studio.page.getByText("Not downloaded. Try again.").waitFor();
    await isShown();
  });
});

describe.skipIf(!hasChromium)("frames of videos in Chromium (skipped where there is none)", () => {
  const studio = openRoom("videos", { speed: Number.POSITIVE_INFINITY, cors: true }, expected);
  const { button, field } = studio;
  const card = () => studio.page.getByRole("article", { name: "A reef", exact: true });
  const within = (name: string): Locator => card().getByRole("button", { name, exact: true });

  async function make(): Promise<void> {
    await field("Prompt").fill("A reef");
    await button("Generate").click();
    await card().waitFor();
  }

  afterEach(() => studio.page.unroute(FILES));

  test("A video that the network blocks says so, can be downloaded, and plays once the page is visible again", async () => {
    await studio.page.route(FILES, (route) => route.abort("internetdisconnected"));
    await make();
    await card().getByText("Could not load").waitFor();
    await card().getByText("Saved link · 24 h").waitFor();
    await within("Download").waitFor();
    await within("Reuse settings").waitFor();
    await studio.page.unroute(FILES);
    await studio.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await within("Play A reef").waitFor();
  });

  test("A video that this browser can't play is not gone: it can be downloaded, also after a reload", async () => {
    await studio.page.route(FILES, (route) =>
      route.fulfill({
        body: "no video",
        headers: { "content-type": "video/mp4", "access-control-allow-origin": "*" },
      }),
    );
    await make();
    for (const _ of [1, 2]) {
      await card().getByText("Can't play here").waitFor();
      await card().getByText("Saved link · 24 h").waitFor();
      const download = studio.page.waitForEvent("download");
      await within("Download").first().click();
      expect((await download).suggestedFilename()).toBe("a-reef.mp4");
      await studio.page.reload();
    }
  });

  test("A video whose link has expired is no longer available, and nothing offers to load it", async () => {
    studio.spend();
    await studio.page.clock.install();
    await make();
    await within("Play A reef").waitFor();
    await studio.page.clock.fastForward(24 * 60 * MINUTE);
    await card().getByText("No longer available").waitFor();
    await expect.poll(() => within("Download").count()).toBe(0);
    await expect.poll(() => within("Try again").count()).toBe(0);
    await within("Reuse settings").waitFor();
  });
});
