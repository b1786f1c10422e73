import { describe, expect, test } from "vitest";
import { hasChromium, openRoom } from "../support/studio-suite.ts";

const PATH = "/v1/chat/completions";
const LONG = "A line of a long text.\n".repeat(45_000);

describe.skipIf(!hasChromium)("A long text in the studio in Chromium (skipped where there is none)", () => {
  const studio = openRoom("chat", { speed: Number.POSITIVE_INFINITY });
  const message = () => studio.field("Message");
  const chips = () => studio.page.getByRole("list", { name: "Texts to send" }).getByRole("listitem");
  const send = () => message().press("Enter");
  const contents = () =>
    (studio.created(PATH) as readonly { messages: readonly { content: string }[] }[]).map(
      ({ messages }) => messages.at(-1)?.content,
    );

  /** Pastes a text; resolves to false where the page takes it, and the field does not get it. */
  async function paste(text: string): Promise<boolean> {
    await message().waitFor();
    // found in the page: the field is another one once the conversation is loaded
    return studio.page.evaluate((pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      const field = document.querySelector("textarea[aria-label=Message]") as HTMLTextAreaElement;
      return field.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
      );
    }, text);
  }

  test("A pasted text of 1 MB stands beside the field, is there after a reload, and is sent with the message", async () => {
    expect(await paste(LONG)).toBe(false);
    await chips()
      .getByText(`${LONG.length.toLocaleString("en")} characters`)
      .waitFor();
    await expect.poll(() => message().inputValue()).toBe("");
    await studio.leave();
    await chips().first().waitFor();
    await message().fill("Sum this up");
    await send();
    await expect.poll(() => contents().length).toBe(1);
    expect(contents()[0]).toBe(`Sum this up\n\n${LONG}`);
    await expect.poll(() => chips().count()).toBe(0);
    await studio.page.getByRole("article", { name: "Assistant's answer" }).waitFor();
  });

  test("A pasted text can be read, removed, and sent without a word", async () => {
    const [one, other] = ["one ".repeat(3000), "two ".repeat(3000)];
    await paste(one);
    await paste(other);
    await expect.poll(() => chips().count()).toBe(2);
    await chips()
      .first()
      .getByRole("button", { name: /^Pasted text/ })
      .click();
    await studio.page.getByRole("dialog", { name: "Pasted text" }).getByText("one one").waitFor();
    await studio.page.keyboard.press("Escape");
    await studio.button("Remove pasted text 1").click();
    await expect.poll(() => chips().count()).toBe(1);
    await expect.poll(() => message().evaluate((it) => it === document.activeElement)).toBe(true);
    await send();
    await expect.poll(() => contents()).toEqual([other]);
  });

  test("A long text that is pasted before the conversation is loaded stands beside the field, and is sent", async () => {
    const release = await studio.hold("**/assets/conversation-*.js");
    await studio.page.reload();
    await message().fill("Sum this up");
    expect(await paste(LONG)).toBe(false);
    await chips().first().waitFor();
    await expect.poll(() => message().inputValue()).toBe("Sum this up");
    await send();
    await expect.poll(() => chips().count()).toBe(0);
    // given up, all of it comes back
    await studio.button("Stop").click();
    await chips().first().waitFor();
    await expect.poll(() => message().inputValue()).toBe("Sum this up");
    await send();
    await release();
    await expect.poll(() => contents()).toEqual([`Sum this up\n\n${LONG}`]);
    await expect.poll(() => chips().count()).toBe(0);
  });

  test("A short text is pasted into the field", async () => {
    expect(await paste("short")).toBe(true);
    await expect.poll(() => chips().count()).toBe(0);
  });
});
