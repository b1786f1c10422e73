import { describe, expect, test } from "vitest";
import { expectLog } from "../../packages/worker-proxy/test/support/expected-log.ts";
import { hasChromium, MINUTE, openRoom, PNG } from "../support/studio-suite.ts";

// a page of another origin requests an asset
expectLog("this page may not call the proxy");

const PATH = "/gamma/asset/CreateAsset";

describe.skipIf(!hasChromium)("the studio's assets in Chromium (skipped where there is none)", () => {
  const studio = openRoom("assets");
  const { button, field } = studio;
  const card = (name: string, page = studio.page) => page.getByRole("article", { name, exact: true });
  const image = (name: string) => ({ name, mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });

  async function pick(...names: string[]): Promise<void> {
    const chooser = studio.page.waitForEvent("filechooser");
    await button("Choose images").click();
    await (await chooser).setFiles(names.map(image));
  }
  /** Hides the page and shows it again: a page that becomes visible polls immediately. */
  async function pollNow(): Promise<void> {
    for (const state of ["hidden", "visible"])
      await studio.page.evaluate((value) => {
        Object.defineProperty(document, "visibilityState", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, state);
  }

  test("An image is registered, found again after a reload, and used in a video", async () => {
    await pick("hero.png");
    await card("hero.png").getByText("Preparing").waitFor();
    const uri = `data:image/png;base64,${PNG}`;
    expect(studio.created(PATH)).toEqual([
      { model: "gamma-asset", GroupId: "studio", Name: "hero.png", AssetType: "Image", URL: uri },
    ]);
    await studio.page.reload();
    await card("hero.png").getByText("Preparing").waitFor();
    studio.ahead = MINUTE;
    await pollNow();
    await card("hero.png").getByText("Ready").waitFor();
    await card("hero.png").getByRole("button", { name: "Video" }).click();
    await studio.page.getByRole("heading", { level: 1, name: "Videos" }).waitFor();
    await studio.page.getByRole("combobox", { name: "Model" }).getByText("Gamma Video 2.0").waitFor();
    await field("Prompt").fill("She waves");
    await button("Generate").click();
    await card("She waves").waitFor();
    await expect.poll(() => studio.created("/v1/video/generations").length).toBe(1);
    expect(studio.created("/v1/video/generations")).toMatchObject([
      {
        model: "gamma-video-2.0",
        content: [
          { type: "text", text: "She waves" },
          {
            type: "image_url",
            image_url: { url: expect.stringMatching(/^asset:\/\/asset-/) },
            role: "reference_image",
          },
        ],
      },
    ]);
  });

  test("The URI of an asset can be copied, and a deleted asset comes back with Undo", async () => {
    const release = await studio.hold(`**${PATH}`);
    await pick("hero.png");
    await card("hero.png").getByText("Sending").waitFor();
    await release();
    await studio.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await card("hero.png").getByRole("button", { name: "Copy URI" }).click();
    await studio.page.getByText("URI copied").waitFor();
    expect(await studio.page.evaluate(() => navigator.clipboard.readText())).toMatch(/^asset:\/\/asset-/);
    await card("hero.png").getByRole("button", { name: "Delete" }).click();
    await card("hero.png").waitFor({ state: "detached" });
    // by keyboard: a message that is in motion can't be clicked
    await button("Undo").focus();
    await studio.page.keyboard.press("Enter");
    await card("hero.png").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("Several images are registered one by one, in every tab, and a refused image says so", async () => {
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await tab.getByRole("heading", { level: 1, name: "Assets" }).waitFor();
    // a background tab draws at most one frame per second
    await studio.page.bringToFront();
    await pick("hero.png", "villain.png");
    for (const page of [studio.page, tab])
      for (const name of ["hero.png", "villain.png"]) await card(name, page).waitFor();
    await expect.poll(() => studio.created(PATH).length).toBe(2);
    await tab.close();
    await pick("hero [[fail]].png");
    await card("hero [[fail]].png").getByText("Preparing").waitFor();
    studio.ahead = MINUTE;
    await pollNow();
    await card("hero [[fail]].png").getByText("This image can't be used.").waitFor();
    await expect.poll(() => card("hero [[fail]].png").getByRole("button", { name: "Video" }).count()).toBe(0);
  });

  test("An image whose response broke off may be billed, and is sent again only on a click", async () => {
    await pick("hero [[drop]].png");
    await card("hero [[drop]].png").getByText("You may have been charged.").first().waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
    await button("Retry anyway").click();
    await expect.poll(() => studio.created(PATH).length).toBe(2);
  });

  test("An image in flight during a reload is listed afterwards, with its possible cost", async () => {
    await pick("hero [[stall]].png");
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    expect(await studio.reloadAndListDialogs()).toEqual(["beforeunload"]);
    const stalledCard = card("hero [[stall]].png");
    await stalledCard.getByText("No response came back. You may have been charged.").waitFor();
    await stalledCard.getByRole("button", { name: "Delete" }).click();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("The Worker looks up assets for the studio's own pages alone, and by an id alone", async () => {
    const lookUp = (body: string, headers: Record<string, string> = {}) =>
      fetch(`${studio.address}/gamma/asset/GetAsset`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", ...headers },
      });
    expect((await lookUp('{"Id":"asset-1"}', { origin: "https://elsewhere.example" })).status).toBe(403);
    // 400, or 404 as of any unknown asset: what matters is that it goes no further
    for (const id of ["../../v1/files", "a".repeat(2000)])
      expect([400, 404]).toContain((await lookUp(JSON.stringify({ Id: id }))).status);
    expect(studio.emulator.requests).toEqual([]);
    expect((await lookUp('{"Id":"asset-1"}')).status).toBe(404);
  });

  test("A file that is not an image is refused without turning the text around its name, and the image beside it is added", async () => {
    await studio.page
      .locator("input[type=file]")
      .setInputFiles([
        image("hero.png"),
        { name: "notes \u202Egnp.txt", mimeType: "text/plain", buffer: Buffer.from("notes") },
      ]);
    await card("hero.png").waitFor();
    await studio.page.getByText("“\u2068notes \u202Egnp.txt\u2069” is not an image.").waitFor();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
  });
});
