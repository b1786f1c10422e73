import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

/** Wide enough for the inspector. */
const WIDTH = 1280;

describe.skipIf(!hasChromium)("the shell of the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY }, undefined, WIDTH);
  const title = (name: string) => studio.page.getByRole("heading", { level: 1, name, exact: true });
  const theme = () => studio.page.evaluate(() => document.documentElement.className);
  const inspector = () => studio.page.getByRole("complementary", { name: "Inspector" });

  test("The palette opens each room by the keyboard alone", async () => {
    const names = await studio.page
      .getByRole("navigation", { name: "Rooms" })
      .getByRole("link")
      .allInnerTexts();
    expect(names).toEqual(["Chat", "Images", "Videos", "Assets"]);
    for (const name of names.toReversed()) {
      await studio.page.keyboard.press("Control+k");
      await studio.page.getByRole("combobox", { name: "Search and commands" }).waitFor();
      await studio.page.keyboard.type(name);
      await studio.page.getByRole("option", { name, exact: true, selected: true }).waitFor();
      await studio.page.keyboard.press("Enter");
      await title(name).waitFor();
      await expect.poll(() => studio.page.title()).toBe(`${name} · Sluice`);
    }
  });

  test("The palette has no heading without rows", async () => {
    await studio.button("Search and commands").click();
    const palette = studio.page.getByRole("dialog", { name: "Search and commands" });
    await palette.getByRole("option", { name: "Images", exact: true }).waitFor();
    const headings = palette.getByText(/^(?:Go to|View|Chats)$/);
    expect(await headings.allInnerTexts()).toEqual(["Go to", "View"]);
    await studio.page.keyboard.press("Escape");
  });

  test("The theme and the inspector stay over a reload", async () => {
    await inspector().waitFor();
    await studio.button("Theme: system").click();
    await studio.button("Theme: light").click();
    await expect.poll(theme).toBe("dark");
    await studio.page.keyboard.press("Control+.");
    await inspector().waitFor({ state: "detached" });
    await studio.page.reload({ waitUntil: "commit" });
    // a separate script sets it before the first paint
    await expect.poll(theme).toBe("dark");
    await title("Chat").waitFor();
    expect(await inspector().count()).toBe(0);
    await studio.page.keyboard.press("Control+.");
    await inspector().waitFor();
  });

  test("The inspector shows the file of the room and marks the line that runs", async () => {
    const code = inspector().getByRole("region", { name: "Code" });
    const marked = code.locator("[data-marked]");
    await code.getByText("export function ChatRoom").waitFor();
    // past the imports
    await expect.poll(() => code.locator("pre").evaluate((box) => box.scrollTop)).toBeGreaterThan(0);
    await studio.field("Message").fill("[[stall]] Hello");
    await studio.field("Message").press("Enter");
    await expect
      .poll(() => marked.allInnerTexts())
      .toEqual([expect.stringContaining("renderText={renderText}")]);
    await studio.button("Stop").click();
    await marked.first().waitFor({ state: "detached" });
    await studio.page.getByRole("link", { name: "Images" }).click();
    await code.getByText("export function ImagesRoom").waitFor();
    await studio.hold("**/v1/images/generations");
    await studio.field("Prompt").fill("A reef");
    await studio.button("Generate").click();
    await expect
      .poll(() => marked.allInnerTexts())
      .toEqual([expect.stringContaining("await generate(next)")]);
    await studio.button("Stop").click();
  });

  test("The inspector shows the calls from before it was opened", async () => {
    await inspector().waitFor();
    await studio.page.keyboard.press("Control+.");
    await inspector().waitFor({ state: "detached" });
    await studio.field("Message").fill("Hello");
    await studio.field("Message").press("Enter");
    await studio.button("Regenerate").waitFor();
    await studio.page.keyboard.press("Control+.");
    await inspector().getByRole("button", { name: "Calls", exact: true }).click();
    await inspector().getByText("alpha-v4.1-flash").first().waitFor();
  });

  test("A call leads to its message, also from another room and to a hidden version", async () => {
    const { page, field, button } = studio;
    await field("Message").fill("Hello");
    await field("Message").press("Enter");
    await button("Regenerate").click();
    await page.getByText("2/2").waitFor();
    await page.getByRole("link", { name: "Images" }).click();
    await inspector().getByRole("button", { name: "Calls", exact: true }).click();
    await inspector().getByRole("button", { name: "Message", exact: true }).last().click();
    await page.getByRole("log").getByText("1/2").waitFor();
    await page.locator("[aria-current=true]").getByText("Hello", { exact: true }).waitFor();
  });

  test("A response leads to its call, again after the view was changed", async () => {
    const { page, field, button } = studio;
    await field("Message").fill("Hello");
    await field("Message").press("Enter");
    const details = page.getByRole("log").getByRole("button", { name: /^Alpha 4.1 Flash/ });
    const open = inspector().getByRole("button", { expanded: true });
    await details.click();
    await open.getByText("complete").waitFor();
    await inspector().getByRole("tab", { name: "Usage" }).click();
    await open.waitFor({ state: "detached" });
    await details.click();
    await open.waitFor();
    await button("Regenerate").waitFor();
  });

  test.each(["%00", "x".repeat(201)])(
    "An address with an id that no chat can have shows a new chat: %s",
    async (id) => {
      await studio.page.evaluate((hash) => {
        location.hash = hash;
      }, `#/chat/${id}`);
      await studio.page.getByRole("region", { name: "Welcome" }).waitFor();
      await studio.field("Message").waitFor();
    },
  );

  test("The first screen has no link without a target", async () => {
    const links = studio.page.getByRole("link");
    const targets = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
    expect(targets.filter((href) => !/^#\/(chat|images|videos|assets)|^https:\/\/[a-z]/.test(href))).toEqual(
      [],
    );
    expect(targets.join()).not.toMatch(/YOUR-/);
  });
});
