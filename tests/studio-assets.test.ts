/** @module-tag long */
import { describe, expect, test } from "vitest";
import { hasChromium, MINUTE, openRoom, PNG } from "./support/studio-suite.ts";

const PATH = "/gamma/asset/CreateAsset";

describe.skipIf(!hasChromium)("the studio's assets in Chromium (skipped where there is none)", () => {
  const studio = openRoom("assets");
  const { button, field } = studio;
  const card = (name: string) => studio.page.getByRole("article", { name, exact: true });

  async function pick(name: string): Promise<void> {
    const chooser = studio.page.waitForEvent("filechooser");
    await button("Image: choose a file").click();
    await (await chooser).setFiles([{ name, mimeType: "image/png", buffer: Buffer.from(PNG, "base64") }]);
    await studio.page.getByRole("list", { name: "Image to send" }).getByText(name).waitFor();
  }

  async function link(url: string): Promise<void> {
    await field("Image: link").fill(url);
    await field("Image: link").press("Enter");
  }

  test("are registered from a file, found again by a reload, and used in a video", async () => {
    await pick("hero.png");
    await button("Register").click();
    await card("hero.png").getByText("Being prepared (Processing)").waitFor();
    expect(studio.created(PATH)).toEqual([
      {
        model: "gamma-asset",
        GroupId: "studio",
        Name: "hero.png",
        AssetType: "Image",
        URL: `data:image/png;base64,${PNG}`,
      },
    ]);
    await studio.page.reload();
    await card("hero.png").getByText("Being prepared (Processing)").waitFor();
    await card("hero.png").getByText("usually 6 to 9 s").waitFor();
    studio.ahead = MINUTE;
    await button("Ask now").click();
    await card("hero.png").getByText("Ready").waitFor();
    const uri = await card("hero.png").getByRole("code").innerText();
    expect(uri).toMatch(/^asset:\/\/asset-/);
    await button("Use in a video").click();
    await studio.page.getByRole("list", { name: "Reference images to send" }).getByText("hero.png").waitFor();
    expect(await studio.page.getByRole("combobox", { name: "Model" }).inputValue()).toBe("gamma-video-2.0");
    await field("Prompt").fill("She waves");
    await button("Generate").click();
    await card("She waves").getByText("Asked about again in").waitFor();
    expect(studio.created("/v1/video/generations")).toEqual([
      {
        model: "gamma-video-2.0",
        content: [
          { type: "text", text: "She waves" },
          { type: "image_url", image_url: { url: uri }, role: "reference_image" },
        ],
        // what the model does by itself nobody knows: it is told what the form shows
        generate_audio: false,
        return_last_frame: false,
        watermark: false,
      },
    ]);
    // another model that takes assets stays, and so does the one place of the asset
    const model = studio.page.getByRole("combobox", { name: "Model" });
    await model.selectOption("gamma-video-fast");
    await studio.page.goBack();
    await button("Use in a video").click();
    expect(await model.inputValue()).toBe("gamma-video-fast");
    const references = studio.page.getByRole("list", { name: "Reference images to send" });
    expect(await references.getByRole("listitem").count()).toBe(1);
  });

  test("have an address that can be copied", async () => {
    await studio.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await link("https://example.com/pictures/hero.png");
    await button("Register").click();
    await button("Copy the address").click();
    await button("Copied").waitFor();
    const copied = await studio.page.evaluate(() => navigator.clipboard.readText());
    expect(copied).toBe(await card("hero.png").getByRole("code").innerText());
  });

  test("are registered once by a double click", async () => {
    await link("https://example.com/hero.png");
    await button("Register").dblclick();
    await card("hero.png").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
    await button("Remove").click();
    await studio.page.getByText("What is registered in this browser is listed here.").waitFor();
  });

  test("that the gateway can't use say so", async () => {
    await field("Name").fill("hero [[fail]]");
    await link("https://example.com/hero.png");
    await button("Register").click();
    await card("hero [[fail]]").getByText("Being prepared").waitFor();
    studio.ahead = MINUTE;
    await button("Ask now").click();
    await card("hero [[fail]]").getByText("The gateway can't use this image.").waitFor();
    expect(await button("Use in a video").count()).toBe(0);
  });

  test("that can't be registered say so at the field, and nothing is sent", async () => {
    await link("hero.png");
    await studio.page.getByText("must be an http(s) URL").waitFor();
    await button("Register").click();
    await button("Remove hero.png").click();
    await field("Group").fill("");
    await link("https://example.com/hero.png");
    await studio.page.getByText("must not be empty").waitFor();
    await button("Register").press("Enter");
    await expect.poll(() => field("Group").evaluate((it) => it === document.activeElement)).toBe(true);
    expect(studio.created(PATH)).toEqual([]);
    await field("Group").fill("heroes");
    await field("Group").press("Enter");
    await card("hero.png").getByText("heroes").waitFor();
  });

  test("whose answer broke off may be registered: the page says so, and the form is still there", async () => {
    await field("Name").fill("hero [[drop]]");
    await link("https://example.com/hero.png");
    await button("Register").click();
    await studio.page.getByRole("alert").getByText("it may be billed").waitFor();
    await field("Name").fill("hero");
    await button("Register").click();
    await card("hero").waitFor();
    expect(await studio.page.getByRole("alert").count()).toBe(0);
    expect(studio.created(PATH)).toHaveLength(2);
  });

  test("are looked up for the studio's own pages alone, and by an id alone", async () => {
    const lookUp = (body: string, headers: Record<string, string> = {}) =>
      fetch(`${studio.address}/gamma/asset/GetAsset`, {
        method: "POST",
        body,
        headers: { "content-type": "application/json", ...headers },
      });
    const foreign = { origin: "https://elsewhere.example" };
    expect((await lookUp('{"Id":"asset-1"}', foreign)).status).toBe(403);
    // 400, or 404 as of any asset that is nobody's: what matters is that it goes no further
    for (const id of ["../../v1/files", "a".repeat(2000)])
      expect([400, 404]).toContain((await lookUp(JSON.stringify({ Id: id }))).status);
    expect(studio.emulator.requests).toEqual([]);
    expect((await lookUp('{"Id":"asset-1"}')).status).toBe(404);
  });

  test("on their way to the gateway are not left without the browser's asking", async () => {
    await field("Name").fill("hero [[stall]]");
    await link("https://example.com/hero.png");
    await button("Register").click();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    expect(await studio.leave()).toEqual(["beforeunload"]);
  });

  test("of two tabs are listed in both", async () => {
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    for (const [page, name] of [
      [studio.page, "hero"],
      [tab, "villain"],
    ] as const) {
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.getByRole("textbox", { name: "Image: link" }).fill("https://example.com/a.png");
      await page.getByRole("textbox", { name: "Image: link" }).press("Enter");
      await page.getByRole("button", { name: "Register" }).click();
    }
    for (const page of [studio.page, tab])
      for (const name of ["hero", "villain"])
        await page.getByRole("article", { name, exact: true }).waitFor();
  });

  test("dropped beside their field do not take the page away, and on it they are taken", async () => {
    const drag = await studio.page.evaluateHandle(() => {
      const dragged = new DataTransfer();
      dragged.items.add(new File([new Uint8Array(9)], "hero.png", { type: "image/png" }));
      return dragged;
    });
    /** Whether the page, and not the browser, has the file. */
    const isTaken = (selector: string, type: string) =>
      studio.page
        .locator(selector)
        .evaluate(
          (target, { name, dataTransfer }) =>
            !target.dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer })),
          { name: type, dataTransfer: drag },
        );
    expect(await isTaken("main", "dragover")).toBe(true);
    expect(await isTaken("fieldset", "dragover")).toBe(true);
    expect(await isTaken("fieldset", "drop")).toBe(true);
    await studio.page.getByRole("list", { name: "Image to send" }).getByText("hero.png").waitFor();
  });
});
