/** @module-tag long */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { problemsOf } from "../support/axe.ts";
import { hasChromium, openRoom, PNG } from "../support/studio-suite.ts";

const PATH = "/v1/images/generations";
const pixel = Buffer.from(PNG, "base64");

describe.skipIf(!hasChromium)("the studio's images in Chromium (skipped where there is none)", () => {
  const studio = openRoom("images", { speed: Number.POSITIVE_INFINITY });
  const { button } = studio;
  const prompt = (page = studio.page) => page.getByRole("textbox", { name: "Prompt" });
  const tile = (name: string, page = studio.page) =>
    page.getByRole("list", { name: "Images" }).getByRole("listitem", { name });
  const alert = () => studio.page.getByRole("alert");

  async function make(text: string, page = studio.page): Promise<void> {
    await prompt(page).fill(text);
    await button("Generate", page).click();
    await tile(text, page).first().waitFor();
  }
  async function act(name: string, action: string): Promise<void> {
    const item = studio.page.getByRole("menuitem", { name: action });
    await expect
      .poll(async () => {
        // a tile that is drawn anew takes its open menu with it
        await tile(name).first().hover();
        await tile(name).first().getByRole("button", { name: "Actions" }).click();
        return item.click({ timeout: 2000 }).then(
          () => true,
          () => false,
        );
      })
      .toBe(true);
  }

  beforeEach(() => serveFiles());
  afterEach(() => studio.page.unrouteAll({ behavior: "ignoreErrors" }));

  /** The drafts and images that the browser keeps, as text. */
  const draft = () =>
    studio.page.evaluate(
      () =>
        new Promise<string>((resolve) => {
          const opening = indexedDB.open("sluice/1");
          opening.onsuccess = () => {
            const reading = opening.result.transaction("records").objectStore("records").getAll();
            reading.onsuccess = () => {
              opening.result.close();
              resolve(JSON.stringify(reading.result));
            };
          };
        }),
    );

  /** The emulator would draw each picture pixel by pixel. */
  async function serveFiles(page = studio.page): Promise<void> {
    await page.route("**/files/**", (route) =>
      route.fulfill({
        body: pixel,
        contentType: "image/png",
        headers: { "access-control-allow-origin": "*" },
      }),
    );
  }

  test("are made as the form says, and are there after a reload with the draft", async () => {
    await button("16:9").click();
    await button("3K").click();
    await prompt().fill("A reef at dawn");
    await prompt().press("Enter");
    await tile("A reef at dawn").getByRole("img", { name: "A reef at dawn" }).waitFor();
    expect(studio.created(PATH)).toEqual([
      { model: "gamma-image-5-0-260128", prompt: "A reef at dawn", size: "4096x2304" },
    ]);
    await prompt().fill("A reef at noon");
    await prompt().blur();
    await expect.poll(draft).toContain("A reef at noon");
    await studio.page.reload();
    await tile("A reef at dawn").getByRole("img").waitFor();
    await expect.poll(() => prompt().inputValue()).toBe("A reef at noon");
    await expect.poll(() => button("16:9").getAttribute("aria-pressed")).toBe("true");
  });

  test("are paid for once by a double click and by a key that is held", async () => {
    const release = await studio.hold(`**${PATH}`);
    await prompt().fill("A reef at dawn");
    await button("Generate").dblclick();
    await button("Stop").waitFor();
    await prompt().press("Enter");
    await prompt().press("Enter");
    await release();
    await tile("A reef at dawn").waitFor();
    await button("Generate").focus();
    expect(studio.created(PATH)).toHaveLength(1);
  });

  test("that lack a prompt say so at the field, and an example is one click away", async () => {
    await button("Generate").click();
    await studio.page.getByText("Add a prompt.").waitFor();
    await expect.poll(() => prompt().evaluate((it) => it === document.activeElement)).toBe(true);
    expect(await prompt().getAttribute("aria-invalid")).toBe("true");
    expect(studio.created(PATH)).toEqual([]);
    await studio.page.getByRole("button", { name: /^Mountains at dawn/ }).click();
    await tile("Misty mountains at dawn").getByRole("img").waitFor();
    expect(studio.created(PATH)).toMatchObject([{ size: "1312x736" }]);
    await expect.poll(() => studio.page.getByText("Add a prompt.").count()).toBe(0);
  });

  test("of a set have the one that failed in its place", async () => {
    await studio.page.getByRole("textbox", { name: "Number of images" }).fill("3");
    await make("Waves [[partial]]");
    await expect.poll(() => tile("Waves").count()).toBe(3);
    await tile("Waves").nth(1).getByText("Image 2 failed").waitFor();
    await tile("Waves").nth(1).getByText("content filter").waitFor();
    expect(await tile("Waves").getByRole("img").count()).toBe(2);
    expect(studio.created(PATH)).toMatchObject([
      { sequential_image_generation: "auto", sequential_image_generation_options: { max_images: 3 } },
    ]);
  });

  test("follow references, by file and by link, and a wrong one is named at the field", async () => {
    await button("Add references").click();
    const chooser = studio.page.waitForEvent("filechooser");
    await button("Choose files").click();
    await (await chooser).setFiles([
      { name: "r.png", mimeType: "image/png", buffer: pixel },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") },
    ]);
    await studio.page.getByText("“notes.txt” is not a picture.").waitFor();
    const link = studio.page.getByRole("textbox", { name: "Reference images: link" });
    await link.fill("ftp://example.com/a.png");
    await link.press("Enter");
    await studio.page.getByText("Use a link: https://…").waitFor();
    await studio.page.keyboard.press("Escape");
    await button("Remove example.com/a.png").click();
    await studio.page.getByText("Use a link: https://…").waitFor({ state: "detached" });
    await make("The same at night");
    expect(studio.created(PATH)).toMatchObject([{ image: [`data:image/png;base64,${PNG}`] }]);
  });

  test("whose answer broke off may be billed: a retry says so", async () => {
    await prompt().fill("A reef [[drop]]");
    await button("Generate").click();
    await alert().getByText("You may have been charged.").waitFor();
    expect(studio.created(PATH)).toHaveLength(1);
    await prompt().fill("A reef");
    await button("Retry anyway").click();
    await tile("A reef").waitFor();
    await alert().waitFor({ state: "detached" });
    expect(studio.created(PATH)).toHaveLength(2);
  });

  test("that are stopped may be billed: the page says so once", async () => {
    await prompt().fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    await button("Stop").click();
    await alert().getByText("You may have been charged.").waitFor();
    expect(await studio.page.getByText("charged").count()).toBe(1);
    await expect.poll(() => studio.emulator.requests[0]?.aborted).toBe(true);
    await button("Dismiss").click();
    await alert().waitFor({ state: "detached" });
  });

  test("that were deleted come back with Undo", async () => {
    await make("A reef at dawn");
    await act("A reef at dawn", "Delete");
    await tile("A reef at dawn").waitFor({ state: "detached" });
    // by keyboard: a message that is in motion can't be clicked
    await button("Undo").focus();
    await studio.page.keyboard.press("Enter");
    await tile("A reef at dawn").waitFor();
  });

  test("open large, are paged through by keys, and become the first frame of a video", async () => {
    await make("A reef at dawn");
    await make("A reef at dusk");
    await button("Open A reef at dusk").click();
    const shown = (name: string) => studio.page.getByRole("group", { name: "Photo gallery" }).getByText(name);
    const words = (name: string) => studio.page.locator(".yarl__slide_current").getByText(name);
    await words("A reef at dusk").waitFor();
    await studio.page.keyboard.press("ArrowRight");
    await words("A reef at dawn").waitFor();
    await studio.page.keyboard.press("Escape");
    await shown("A reef at dawn").waitFor({ state: "detached" });
    await act("A reef at dusk", "Make a video");
    await studio.page.getByRole("heading", { level: 1, name: "Videos" }).waitFor();
    await expect.poll(() => prompt().inputValue()).toBe("A reef at dusk");
    await studio.page.getByRole("img", { name: "First frame" }).waitFor();
  });

  test("can be varied: the same settings, with another seed", async () => {
    await button("1:1").click();
    await make("A reef at dawn");
    await prompt().fill("Something else");
    await act("A reef at dawn", "Vary");
    await expect.poll(() => tile("A reef at dawn").count()).toBe(2);
    expect(studio.created(PATH)).toEqual([
      { model: "gamma-image-5-0-260128", prompt: "A reef at dawn", size: "2048x2048" },
      {
        model: "gamma-image-5-0-260128",
        prompt: "A reef at dawn",
        size: "2048x2048",
        seed: expect.any(Number),
      },
    ]);
    await expect.poll(() => prompt().inputValue()).toBe("A reef at dawn");
  });

  test("go on while one is in another room, where the wall and its place are kept", async () => {
    await studio.page.setViewportSize({ width: 700, height: 400 });
    await make("A reef at dawn");
    const scroller = studio.page.getByRole("main").locator(".overflow-y-auto").first();
    const top = () => scroller.evaluate((it) => it.scrollTop);
    await tile("A reef at dawn").getByRole("img").waitFor();
    await scroller.evaluate((it) => it.scrollTo(0, 100));
    const release = await studio.hold(`**${PATH}`);
    await act("A reef at dawn", "Vary");
    await button("Stop").waitFor();
    await expect.poll(top).toBe(0);
    await scroller.evaluate((it) => it.scrollTo(0, 100));
    await studio.page.goto(`${studio.address}/#/assets`);
    await studio.page.getByRole("heading", { level: 1, name: "Assets" }).waitFor();
    await release();
    await expect.poll(() => studio.created(PATH).length).toBe(2);
    await studio.page.goBack();
    await expect.poll(() => tile("A reef at dawn").count()).toBe(2);
    await expect.poll(top).toBe(100);
  });

  test("of one tab are in the other", async () => {
    const tab = await studio.page.context().newPage();
    await serveFiles(tab);
    await tab.goto(studio.page.url());
    await prompt(tab).waitFor();
    await make("A reef at dawn");
    await tile("A reef at dawn", tab).waitFor();
  });

  test("on their way are not left without the browser's asking", async () => {
    await prompt().fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(PATH).length).toBe(1);
    expect(await studio.leave()).toEqual(["beforeunload"]);
  });

  test.for(["light", "dark"] as const)("have no barrier that axe finds, in %s", async (colorScheme) => {
    await studio.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await button("Generate").click();
    await studio.page.getByText("Add a prompt.").waitFor();
    await button("More settings").waitFor();
    await expect.poll(() => problemsOf(studio.page)).toEqual([]);
    await make("Waves");
    const release = await studio.hold(`**${PATH}`);
    await button("Generate").click();
    await button("Stop").click();
    await alert().waitFor();
    await expect.poll(() => problemsOf(studio.page)).toEqual([]);
    await release();
    await button("Open Waves").click();
    await studio.page.locator(".yarl__slide_current").getByText("Waves").waitFor();
    await expect.poll(() => problemsOf(studio.page)).toEqual([]);
    await studio.page.emulateMedia({ colorScheme: null, reducedMotion: null });
  });
});
