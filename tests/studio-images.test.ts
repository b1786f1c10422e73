import { type Browser, chromium } from "playwright";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";
import { type QuickStudio, startQuickStudio } from "./support/quick-studio.ts";
import { openStudio, type StudioPage } from "./support/studio-page.ts";

const executablePath = findChromium();
const PATH = "/v1/images/generations";
/** One pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.skipIf(!executablePath)("the studio's images in Chromium (skipped where there is none)", () => {
  let server: QuickStudio;
  let browser: Browser;
  let studio: StudioPage;

  beforeAll(async () => {
    const launch = chromium.launch({ ...(executablePath && { executablePath }), args: chromiumFlags });
    [server, browser] = await Promise.all([startQuickStudio({ speed: 20 }), launch]);
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await server.close();
  });
  beforeEach(async () => {
    server.emulator.reset();
    studio = await openStudio(browser, `${server.address}/#images`);
    await control("Model").selectOption("gamma-image-4-0-250828");
    // the smallest: the emulator draws every pixel
    await control("Size").selectOption("1024x1024");
  });
  afterEach(async () => {
    await studio.close();
    // the browser tells of every answer that is not 200
    expect(studio.problems.filter((text) => !/Failed to load resource/.test(text))).toEqual([]);
  });

  const button = (name: string) => studio.page.getByRole("button", { name, exact: true });
  const prompt = () => studio.page.getByRole("textbox", { name: "Prompt" });
  const control = (name: string) => studio.page.getByRole("combobox", { name });
  const sheet = (name: string) => studio.page.getByRole("article", { name });
  const alert = () => studio.page.getByRole("alert");
  const gallery = () => studio.page.getByRole("region", { name: "Gallery" });

  test("are made as asked for, shown with their size, and kept over a reload", async () => {
    await studio.page.getByRole("textbox", { name: "Seed" }).fill("7");
    await prompt().fill("A reef at dawn");
    await button("Generate").click();
    const image = sheet("A reef at dawn").getByRole("img");
    await expect
      .poll(() => image.evaluate((shown) => (shown as HTMLImageElement).naturalWidth), { timeout: 15_000 })
      .toBe(1024);
    expect(await sheet("A reef at dawn").innerText()).toContain("1024 × 1024");
    expect(server.created(PATH)).toEqual([
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
    await prompt().fill("A reef at dawn");
    await button("Generate").dblclick();
    await button("Stop").waitFor();
    await prompt().press("Tab");
    await button("Generate").press("Enter");
    await sheet("A reef at dawn").waitFor();
    expect(server.created(PATH)).toHaveLength(1);
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
    expect(server.created(PATH)).toMatchObject([
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
    expect(server.created(PATH)).toHaveLength(1);
  });

  test("whose answer broke off may be billed: the page says so, and asks again when told to", async () => {
    await prompt().fill("A reef [[drop]]");
    await button("Generate").click();
    await alert().getByText("it may be billed").waitFor();
    expect(server.created(PATH)).toHaveLength(1);
    await prompt().fill("A reef");
    await button("Ask again all the same").click();
    await sheet("A reef").waitFor();
    expect(server.created(PATH)).toHaveLength(2);
  });

  test("that are stopped may be billed, and the page says so before and after", async () => {
    await prompt().fill("A reef [[stall]]");
    await button("Generate").press("Enter");
    await gallery().getByText("Generating for").waitFor();
    expect(await button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    await studio.page.getByText("may be billed all the same").waitFor();
    await expect.poll(() => server.created(PATH).length).toBe(1);
    await button("Stop").click();
    await alert().getByText("Stopped: the gateway may have begun, and it may be billed.").waitFor();
    await expect.poll(() => server.emulator.requests[0]?.aborted).toBe(true);
    await button("Dismiss").click();
    expect(await alert().count()).toBe(0);
  });

  test("go on while one is in another room, which one finds again by Back too", async () => {
    await prompt().fill("A reef [[slow]]");
    await button("Generate").click();
    await button("Stop").waitFor();
    const rooms = studio.page.getByRole("navigation", { name: "Rooms" });
    await rooms.getByRole("link", { name: "Chat" }).click();
    await studio.field.waitFor();
    await studio.page.goBack();
    expect(await prompt().inputValue()).toBe("A reef [[slow]]");
    expect(await rooms.getByRole("link", { name: "Images" }).getAttribute("aria-current")).toBe("page");
    await sheet("A reef").waitFor();
    expect(server.created(PATH)).toHaveLength(1);
  });
});
