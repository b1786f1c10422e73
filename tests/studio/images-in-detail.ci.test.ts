import { describe, expect, test } from "vitest";
import { IMAGES, openImages } from "../support/images-room.ts";
import { hasChromium, PNG } from "../support/studio-suite.ts";

const pixel = Buffer.from(PNG, "base64");

describe.skipIf(!hasChromium)("the studio's images in Chromium (skipped where there is none)", () => {
  const { studio, button, findPrompt, findTile, make } = openImages();
  const alert = () => studio.page.getByRole("alert");

  async function act(name: string, action: string): Promise<void> {
    await findTile(name).first().hover();
    await findTile(name).first().getByRole("button", { name: "Actions" }).click();
    await studio.page.getByRole("menuitem", { name: action }).click();
  }

  test("A set without a prompt says so; an example fills the form and costs nothing; what it makes can be varied, deleted and brought back", async () => {
    const name = "Misty mountains at dawn";
    await button("Generate").click();
    await studio.page.getByText("Add a prompt.").waitFor();
    await expect.poll(() => findPrompt().evaluate((it) => it === document.activeElement)).toBe(true);
    await expect.poll(() => findPrompt().getAttribute("aria-invalid")).toBe("true");
    expect(studio.created(IMAGES)).toEqual([]);
    await studio.page.getByRole("button", { name: /^Mountains at dawn/ }).click();
    await expect.poll(() => findPrompt().inputValue()).toContain(name);
    await expect.poll(() => button("Generate").evaluate((it) => it === document.activeElement)).toBe(true);
    await studio.page.getByRole("button", { name: /^Settings: 16:9/ }).waitFor();
    expect(studio.created(IMAGES)).toEqual([]);
    await studio.page.keyboard.press("Enter");
    await findTile(name).getByRole("img").waitFor();
    await expect.poll(() => studio.page.getByText("Add a prompt.").count()).toBe(0);
    // the model stays
    expect(studio.created(IMAGES)).toMatchObject([
      { model: "gamma-image-5-0-260128", prompt: expect.stringContaining(name) },
    ]);
    await findPrompt().fill("Something else");
    await act(name, "Vary");
    await expect.poll(() => findTile(name).count()).toBe(2);
    const [first, second] = studio.created(IMAGES) as readonly object[];
    expect(second).toEqual({ ...first, seed: expect.any(Number) });
    await act(name, "Delete");
    await expect.poll(() => findTile(name).count()).toBe(1);
    await expect.poll(() => findTile(name).evaluate((it) => it.contains(document.activeElement))).toBe(true);
    // by keyboard: a message that is in motion can't be clicked
    await button("Undo").focus();
    await studio.page.keyboard.press("Enter");
    await expect.poll(() => findTile(name).count()).toBe(2);
  });

  test("follow references, by file and by link; a set shows a failed image at its position", async () => {
    await button("Add: Reference images").click();
    const chooser = studio.page.waitForEvent("filechooser");
    await button("Choose files").click();
    await (await chooser).setFiles([
      { name: "r.png", mimeType: "image/png", buffer: pixel },
      { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("notes") },
    ]);
    await studio.page.getByText("“\u2068notes.txt\u2069” is not an image.").waitFor();
    const link = studio.page.getByRole("textbox", { name: "Reference images: link" });
    await link.fill("ftp://example.com/a.png");
    await link.press("Enter");
    await studio.page.getByText("Use a link: https://…").waitFor();
    await studio.page.keyboard.press("Escape");
    await button("Remove Reference images").last().click();
    await studio.page.getByText("Use a link: https://…").waitFor({ state: "detached" });
    await studio.page.getByRole("button", { name: /^Settings: / }).click();
    await studio.page.getByRole("textbox", { name: "Number of images" }).fill("3");
    await studio.page.keyboard.press("Escape");
    await button("Settings: 3 images").waitFor();
    await make("Waves [[partial]]");
    await expect.poll(() => findTile("Waves").count()).toBe(3);
    await findTile("Waves").nth(1).getByText("This image failed").waitFor();
    await findTile("Waves").nth(1).getByText("content filter").waitFor();
    await expect.poll(() => findTile("Waves").getByRole("img").count()).toBe(2);
    expect(studio.created(IMAGES)).toMatchObject([
      {
        image: [`data:image/png;base64,${PNG}`],
        sequential_image_generation: "auto",
        sequential_image_generation_options: { max_images: 3 },
      },
    ]);
  });

  test("Images that broke off or were stopped may be billed: the page says so", async () => {
    await findPrompt().fill("A reef [[drop]]");
    await button("Generate").click();
    await alert().getByText("You may have been charged.").waitFor();
    expect(studio.created(IMAGES)).toHaveLength(1);
    await findPrompt().fill("A reef");
    await button("Retry anyway").click();
    await studio.page.getByRole("listitem", { name: "A reef", exact: true }).waitFor();
    await alert().waitFor({ state: "detached" });
    await expect.poll(() => studio.created(IMAGES).length).toBe(2);
    await findPrompt().fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(IMAGES).length).toBe(3);
    await button("Stop").click();
    await alert().getByText("You may have been charged.").waitFor();
    await expect.poll(() => studio.emulator.requests.at(-1)?.aborted).toBe(true);
    await button("Dismiss").click();
    await alert().waitFor({ state: "detached" });
  });

  test("are in every tab, open large, are paged through by keys, and become the first frame of a video", async () => {
    const tab = await studio.page.context().newPage();
    await tab.goto(studio.page.url());
    await findPrompt(tab).waitFor();
    // a background tab draws at most one frame per second
    await studio.page.bringToFront();
    await make("A reef at dawn");
    await findTile("A reef at dawn", tab).waitFor();
    await tab.close();
    await make("A reef at dusk");
    await button("Open A reef at dusk").click();
    const shown = (name: string) => studio.page.getByRole("group", { name: "Photo gallery" }).getByText(name);
    const words = (name: string) => studio.page.locator(".yarl__slide_current").getByText(name);
    await words("A reef at dusk").waitFor();
    // the keys are its own: pressed on it, so that it has the focus
    const viewer = studio.page.locator(".yarl__container");
    await viewer.press("ArrowRight");
    await words("A reef at dawn").waitFor();
    await studio.page.locator(".yarl__slide_current").getByRole("button", { name: "Copy prompt" }).click();
    const toast = studio.page.getByText("Prompt copied");
    await expect.poll(() => toast.evaluate((it) => it.closest("[inert]"))).toBe(null);
    await viewer.press("Escape");
    await shown("A reef at dawn").waitFor({ state: "detached" });
    await act("A reef at dusk", "Make a video");
    await studio.page.getByRole("heading", { level: 1, name: "Videos" }).waitFor();
    await expect.poll(() => findPrompt().inputValue()).toBe("A reef at dusk");
    await studio.page.getByRole("img", { name: "First frame" }).waitFor();
  });

  test("A request continues in another room, and the browser asks before the page is closed", async () => {
    const release = await studio.hold(`**${IMAGES}`);
    await findPrompt().fill("A reef at dawn");
    await button("Generate").click();
    await button("Stop").waitFor();
    await studio.page.goto(`${studio.address}/#/assets`);
    await studio.page.getByRole("heading", { level: 1, name: "Assets" }).waitFor();
    await release();
    await expect.poll(() => studio.created(IMAGES).length).toBe(1);
    await studio.page.goBack();
    await findTile("A reef at dawn").getByRole("img").waitFor();
    await findPrompt().fill("A reef [[stall]]");
    await button("Generate").click();
    await expect.poll(() => studio.created(IMAGES).length).toBe(2);
    expect(await studio.reloadAndListDialogs()).toEqual(["beforeunload"]);
  });
});
