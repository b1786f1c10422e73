/** @module-tag long */
import { beforeEach, describe, expect, test } from "vitest";
import { hasChromium, openRoom, PNG } from "./support/studio-suite.ts";

const PATH = "/v1/images/generations";

describe.skipIf(!hasChromium)("the studio's images in Chromium (skipped where there is none)", () => {
  const studio = openRoom("images", { speed: 20 }, /Failed to load resource|CORS policy/);
  const { button } = studio;
  const prompt = () => studio.page.getByRole("textbox", { name: "Prompt" });
  const control = (name: string) => studio.page.getByRole("combobox", { name });
  const sheet = (name: string) => studio.page.getByRole("article", { name });
  const alert = () => studio.page.getByRole("alert");
  const gallery = () => studio.page.getByRole("region", { name: "Gallery" });

  beforeEach(async () => {
    await control("Model").selectOption("gamma-image-4-0-250828");
    // the smallest: the emulator draws every pixel
    await control("Size").selectOption("1024x1024");
  });

  test("are made as asked for, shown with their size, and kept over a reload", async () => {
    await studio.page.getByRole("textbox", { name: "Seed" }).fill("7");
    await prompt().fill("A reef at dawn");
    await button("Generate").click();
    const image = sheet("A reef at dawn").getByRole("img");
    await expect
      .poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth), { timeout: 15_000 })
      .toBe(1024);
    expect(await sheet("A reef at dawn").innerText()).toContain("1024 × 1024");
    expect(studio.created(PATH)).toEqual([
      {
        model: "gamma-image-4-0-250828",
        prompt: "A reef at dawn",
        size: "1024x1024",
        seed: 7,
        watermark: false,
      },
    ]);
    const link = sheet("A reef at dawn").getByRole("link", { name: "Download image 1" });
    expect(await link.getAttribute("href")).toBe(await image.getAttribute("src"));
    await studio.page.reload();
    await sheet("A reef at dawn").getByRole("img").waitFor();
    await button("Remove").click();
    await studio.page.getByText("What is made is shown here").waitFor();
  });

  test("are asked for once by a double click", async () => {
    const release = await studio.hold(`**${PATH}`);
    await prompt().fill("A reef at dawn");
    await button("Generate").dblclick();
    await button("Stop").waitFor();
    await prompt().press("Tab");
    await button("Generate").press("Enter");
    await release();
    await sheet("A reef at dawn").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("of a sequence have the one that failed in its place", async () => {
    await studio.page.getByRole("switch", { name: "Several that belong together" }).check();
    await studio.page.getByRole("textbox", { name: "At most" }).fill("3");
    await prompt().fill("Waves [[partial]]");
    await button("Generate").click();
    const places = sheet("Waves").getByRole("listitem");
    await expect.poll(() => places.count(), { timeout: 15_000 }).toBe(3);
    expect(await places.nth(1).innerText()).toMatch(/Image 2 was not made[\s\S]*content filter/);
    expect(await sheet("Waves").getByRole("img").count()).toBe(2);
    expect(await sheet("Waves").innerText()).toContain("1 of 3 failed");
  });

  test("start from reference images, by file and by link, and the rules are said at the field", async () => {
    const chooser = studio.page.waitForEvent("filechooser");
    await button("Reference images: choose files").click();
    await (await chooser).setFiles([
      { name: "r.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") },
    ]);
    await studio.page.getByRole("listitem").getByText("r.png").waitFor();
    const link = studio.page.getByRole("textbox", { name: "Reference images: link" });
    await link.fill("ftp://example.com/a.png");
    await link.press("Enter");
    await studio.page.getByText("must be an http(s) URL").waitFor();
    await button("Remove ftp://example.com/a.png").click();
    await link.fill("https://example.com/a.png");
    await link.press("Enter");
    expect(await studio.page.getByText("must be an http(s) URL").count()).toBe(0);
    await prompt().fill("The same at night");
    await button("Generate").click();
    await sheet("The same at night").waitFor();
    expect(studio.created(PATH)).toMatchObject([
      { image: [`data:image/png;base64,${PNG}`, "https://example.com/a.png"] },
    ]);
  });

  test("that can't be asked for say so at the field, and cost nothing", async () => {
    await studio.page.getByRole("textbox", { name: "Seed" }).fill("lucky");
    expect(await studio.page.getByRole("textbox", { name: "Seed" }).getAttribute("aria-invalid")).toBe(
      "true",
    );
    await prompt().fill("A reef");
    await button("Generate").click();
    await alert().getByText("Not sent: nothing is billed.").waitFor();
    await studio.page.getByRole("textbox", { name: "Seed" }).fill("");
    await button("Try again").click();
    await sheet("A reef").waitFor();
    expect(await alert().count()).toBe(0);
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("whose answer broke off may be billed: the page says so, and asks again when told to", async () => {
    await prompt().fill("A reef [[drop]]");
    await button("Generate").click();
    await alert().getByText("it may be billed").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
    await prompt().fill("A reef");
    await button("Ask again all the same").click();
    await sheet("A reef").waitFor();
    expect(studio.created(PATH)).toHaveLength(2);
  });

  test("that are stopped may be billed, and the page says so before and after", async () => {
    await prompt().fill("A reef [[stall]]");
    await button("Generate").press("Enter");
    await gallery().getByText("Generating for").waitFor();
    expect(await button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    await studio.page.getByText("may be billed all the same").waitFor();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    await button("Stop").click();
    await alert().getByText("Stopped: the gateway may have begun, and it may be billed.").waitFor();
    await expect.poll(() => studio.emulator.requests[0]?.aborted).toBe(true);
    await button("Dismiss").click();
    expect(await alert().count()).toBe(0);
  });

  test("go on while one is in another room, which one finds again by Back too", async () => {
    const release = await studio.hold(`**${PATH}`);
    await prompt().fill("A reef");
    await button("Generate").click();
    await button("Stop").waitFor();
    const rooms = studio.page.getByRole("navigation", { name: "Rooms" });
    await rooms.getByRole("link", { name: "Chat" }).click();
    await studio.field("Message").waitFor();
    await studio.page.goBack();
    expect(await prompt().inputValue()).toBe("A reef");
    expect(await rooms.getByRole("link", { name: "Images" }).getAttribute("aria-current")).toBe("page");
    await release();
    await sheet("A reef").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("carry a logo as it was asked for, and the rules are said at its fields", async () => {
    const number = (name: string) => studio.page.getByRole("textbox", { name, exact: true });
    expect(await number("Opacity").count()).toBe(0);
    await studio.page.getByRole("switch", { name: "Logo" }).check();
    await number("Position").fill("2");
    await number("Opacity").fill("1.5");
    await expect.poll(() => number("Opacity").getAttribute("aria-invalid")).toBe("true");
    expect(await number("Position").getAttribute("aria-invalid")).toBe("false");
    await number("Opacity").fill("0.5");
    await prompt().fill("A reef");
    await button("Generate").click();
    await sheet("A reef").waitFor();
    expect(studio.created(PATH)).toMatchObject([
      { logo_info: { add_logo: true, position: 2, opacity: 0.5 } },
    ]);
  });

  test("that their server lets no page save open in a tab, and the link says so", async () => {
    for (const name of ["A reef at dawn", "A reef at dusk"]) {
      await prompt().fill(name);
      await button("Generate").click();
      await sheet(name).waitFor();
    }
    const tab = studio.page.context().waitForEvent("page");
    await sheet("A reef at dawn").getByRole("link", { name: "Download image 1" }).click();
    const src = await sheet("A reef at dawn").getByRole("img").getAttribute("src");
    expect((await tab).url()).toBe(src);
    // it is known of all that the server has
    for (const name of ["A reef at dawn", "A reef at dusk"])
      await sheet(name).getByRole("link", { name: "Open image 1 in a tab" }).waitFor();
  });

  test("of two tabs are in both, also if both get one at the same time", async () => {
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await tab.getByRole("combobox", { name: "Model" }).selectOption("gamma-image-4-0-250828");
    await tab.getByRole("combobox", { name: "Size" }).selectOption("1024x1024");
    const tabs = [studio.page, tab];
    const names = ["A reef at dawn", "A reef at dusk"];
    for (const [index, page] of tabs.entries())
      await page.getByRole("textbox", { name: "Prompt" }).fill(names[index] ?? "");
    await Promise.all(tabs.map((page) => page.getByRole("button", { name: "Generate" }).click()));
    for (const page of tabs) for (const name of names) await page.getByRole("article", { name }).waitFor();
    await tab
      .getByRole("article", { name: "A reef at dawn" })
      .getByRole("button", { name: "Remove" })
      .click();
    await sheet("A reef at dawn").waitFor({ state: "detached" });
    await studio.page.reload();
    await sheet("A reef at dusk").waitFor();
    expect(await sheet("A reef at dawn").count()).toBe(0);
  });

  test("on their way are not left without the browser's asking", async () => {
    await prompt().fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    expect(await studio.leave()).toEqual(["beforeunload"]);
  });

  test("need none of what shows Markdown, which comes with the chat", async () => {
    const fetched = () =>
      studio.page.evaluate(() =>
        performance.getEntriesByType("resource").some(({ name }) => /\/assets\/chat-[^/]+\.js$/.test(name)),
      );
    expect(await fetched()).toBe(false);
    await studio.page.getByRole("link", { name: "Chat" }).click();
    await studio.field("Message").waitFor();
    expect(await fetched()).toBe(true);
  });

  test("are made in a room that says so when it can't be fetched, and is tried again", async () => {
    await studio.page.route("**/assets/video-room-*.js", (route) => route.abort());
    await studio.page.getByRole("link", { name: "Video" }).click();
    await alert().getByText("This room could not be fetched").waitFor();
    await studio.page.unroute("**/assets/video-room-*.js");
    await button("Load the page again").click();
    await button("Generate").waitFor();
    expect(await alert().count()).toBe(0);
  });
});
